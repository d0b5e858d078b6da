//! Which seat a key prefers.

use std::collections::BTreeMap;

/// More keys than this, and the one that was not used for longest is forgotten.
const MOST_KEYS: usize = 10_000;

/// Keys and the seats they were last served at. Seats, not workers: whoever takes a seat over inherits its keys.
#[derive(Debug, Default)]
pub(crate) struct Affinity {
    seats: BTreeMap<u64, (u32, u64)>,
    /// Keys by last use.
    order: BTreeMap<u64, u64>,
    uses: u64,
}

impl Affinity {
    pub(crate) fn seat(&self, key: u64) -> Option<u32> {
        self.seats.get(&key).map(|&(seat, _)| seat)
    }

    /// The key is served at this seat now.
    pub(crate) fn note(&mut self, key: u64, seat: u32) {
        self.uses += 1;
        if let Some((_, last)) = self.seats.insert(key, (seat, self.uses)) {
            self.order.remove(&last);
        }
        self.order.insert(self.uses, key);
        if self.seats.len() > MOST_KEYS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.seats.remove(&oldest);
        }
    }

    /// All keys of one seat go to another.
    pub(crate) fn inherit(&mut self, from: u32, to: u32) {
        for (seat, _) in self.seats.values_mut() {
            if *seat == from {
                *seat = to;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_unused_for_longest_is_forgotten() {
        let mut affinity = Affinity::default();
        for key in 0..MOST_KEYS as u64 {
            affinity.note(key, 1);
        }
        affinity.note(0, 2);
        affinity.note(1_000_000, 3);
        assert_eq!((affinity.seat(0), affinity.seat(1), affinity.seat(1_000_000)), (Some(2), None, Some(3)));
    }

    #[test]
    fn an_heir_gets_all_keys_of_its_predecessor() {
        let mut affinity = Affinity::default();
        affinity.note(1, 0);
        affinity.note(2, 5);
        affinity.inherit(0, 7);
        assert_eq!((affinity.seat(1), affinity.seat(2)), (Some(7), Some(5)));
    }
}
