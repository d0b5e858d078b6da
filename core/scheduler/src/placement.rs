//! Which place takes the next call: the least loaded one with room, turning among equals.

use std::collections::{BTreeMap, BTreeSet};

/// Load is compared in these parts of a place's capacity, so that places of different size compare fairly.
const LOAD_SCALE: u64 = 1 << 16;

/// Places with a capacity that take calls: workers of a pool, later nodes of a cluster. Knows costs and capacities, not
/// what a place is.
#[derive(Debug)]
pub struct Placement<P> {
    seats: BTreeMap<P, Seat>,
    /// Open places by (load, turn, place): the first is the next choice.
    by_load: BTreeSet<(u64, u64, P)>,
    /// Rises with every call taken; the place that was chosen longest ago has the smallest.
    turn: u64,
    /// Free slots of all open places.
    room: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    capacity: u32,
    used: u32,
    cost: u64,
    turn: u64,
    open: bool,
}

impl Seat {
    fn load(&self) -> u64 {
        self.cost.saturating_add(u64::from(self.used) * LOAD_SCALE / u64::from(self.capacity.max(1)))
    }

    fn free(&self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }
}

impl<P: Copy + Ord> Default for Placement<P> {
    fn default() -> Self {
        Self { seats: BTreeMap::new(), by_load: BTreeSet::new(), turn: 0, room: 0 }
    }
}

impl<P: Copy + Ord> Placement<P> {
    /// A new place that takes calls. `cost` is added to its load, in parts of 65 536 a full place: a dear place is chosen
    /// once the cheap ones are that much fuller.
    pub fn open(&mut self, place: P, capacity: u32, cost: u64) {
        self.remove(place);
        let seat = Seat { capacity, used: 0, cost, turn: self.turn, open: true };
        self.seats.insert(place, seat);
        self.list(place, seat);
    }

    /// The place takes no more calls; what it has stays counted.
    pub fn shut(&mut self, place: P) {
        self.change(place, |seat| seat.open = false);
    }

    /// The place takes calls again.
    pub fn reopen(&mut self, place: P) {
        self.change(place, |seat| seat.open = true);
    }

    /// The place is gone, with all it had.
    pub fn remove(&mut self, place: P) {
        if let Some(seat) = self.seats.remove(&place) {
            self.unlist(place, seat);
        }
    }

    /// The best place for a call of `slots`, none of `excluded`.
    pub fn choose(&self, slots: u32, excluded: &[P]) -> Option<P> {
        self.open_places()
            .find(|(place, seat)| seat.free() >= slots && !excluded.contains(place))
            .map(|(place, _)| place)
    }

    /// The open place that will soonest have room for a call of `slots`: the least loaded one that is large enough.
    pub fn soonest(&self, slots: u32, excluded: &[P]) -> Option<P> {
        self.open_places()
            .find(|(place, seat)| seat.capacity >= slots && !excluded.contains(place))
            .map(|(place, _)| place)
    }

    /// Counts a call at its place.
    pub fn take(&mut self, place: P, slots: u32) {
        self.turn += 1;
        let turn = self.turn;
        self.change(place, |seat| {
            seat.used += slots;
            seat.turn = turn;
        });
    }

    /// Counts a call away from its place. A place that is gone is ignored.
    pub fn give_back(&mut self, place: P, slots: u32) {
        self.change(place, |seat| {
            debug_assert!(seat.used >= slots, "a place gives back what it took");
            seat.used = seat.used.saturating_sub(slots);
        });
    }

    /// Free slots of all open places.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Whether a place takes a call of `slots` now.
    pub fn fits(&self, place: P, slots: u32) -> bool {
        self.seats.get(&place).is_some_and(|seat| seat.open && seat.free() >= slots)
    }

    /// Slots in use at a place.
    pub fn used(&self, place: P) -> u32 {
        self.seats.get(&place).map_or(0, |seat| seat.used)
    }

    fn open_places(&self) -> impl Iterator<Item = (P, &Seat)> + '_ {
        self.by_load.iter().map(|&(_, _, place)| (place, &self.seats[&place]))
    }

    fn change(&mut self, place: P, edit: impl FnOnce(&mut Seat)) {
        let Some(&before) = self.seats.get(&place) else { return };
        let mut after = before;
        edit(&mut after);
        self.seats.insert(place, after);
        self.unlist(place, before);
        self.list(place, after);
    }

    fn list(&mut self, place: P, seat: Seat) {
        if seat.open {
            self.by_load.insert((seat.load(), seat.turn, place));
            self.room += u64::from(seat.free());
        }
    }

    fn unlist(&mut self, place: P, seat: Seat) {
        if seat.open {
            self.by_load.remove(&(seat.load(), seat.turn, place));
            self.room -= u64::from(seat.free());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_calls_spread_evenly() {
        let mut placement = Placement::default();
        for place in 0..10 {
            placement.open(place, 5, 0);
        }
        let mut counts = [0; 10];
        for _ in 0..37 {
            let place = placement.choose(1, &[]).unwrap();
            placement.take(place, 1);
            counts[place] += 1;
        }
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    }

    #[test]
    fn equals_take_turns_even_when_each_call_ends_at_once() {
        let mut placement = Placement::default();
        for place in 0..3 {
            placement.open(place, 1, 0);
        }
        let mut order = Vec::new();
        for _ in 0..6 {
            let place = placement.choose(1, &[]).unwrap();
            placement.take(place, 1);
            placement.give_back(place, 1);
            order.push(place);
        }
        assert_eq!(order, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn full_shut_and_excluded_places_are_passed_over() {
        let mut placement = Placement::default();
        for place in ['a', 'b', 'c'] {
            placement.open(place, 2, 0);
        }
        placement.take('a', 2);
        placement.shut('b');
        assert_eq!(placement.choose(1, &['c']), None);
        assert_eq!(placement.choose(2, &[]), Some('c'));
        assert_eq!(placement.choose(3, &[]), None);
        placement.reopen('b');
        assert_eq!(placement.room(), 4);
    }

    #[test]
    fn a_dear_place_is_chosen_when_cheap_ones_are_fuller() {
        let mut placement = Placement::default();
        placement.open("near", 4, 0);
        placement.open("far", 4, LOAD_SCALE / 2);
        let mut order = Vec::new();
        for _ in 0..4 {
            let place = placement.choose(1, &[]).unwrap();
            placement.take(place, 1);
            order.push(place);
        }
        assert_eq!(order, ["near", "near", "far", "near"]);
    }
}
