//! All workers of a pool, and who sits where.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::id::WorkerId;
use crate::recycle::Limits;
use crate::time::Timestamp;
use crate::worker::{Origin, Phase, Worker};

#[derive(Debug, Default)]
pub(crate) struct Roster {
    workers: BTreeMap<WorkerId, Worker>,
    /// The next generation of every seat that was ever used.
    generations: Vec<u32>,
    census: Census,
}

/// Kept with every change of phase, so that no decision has to walk over the workers.
#[derive(Debug, Default)]
struct Census {
    alive: u32,
    own_alive: u32,
    own_starting: u32,
    starting: u32,
    seats_held: u32,
}

impl Census {
    fn tallies(&mut self, worker: &Worker) -> [(bool, &mut u32); 5] {
        let (alive, own) = (worker.is_alive(), worker.origin == Origin::Spawned);
        let starting = worker.phase == Phase::Starting;
        [
            (alive, &mut self.alive),
            (alive && own, &mut self.own_alive),
            (starting && own, &mut self.own_starting),
            (starting, &mut self.starting),
            (worker.holds_its_seat(), &mut self.seats_held),
        ]
    }

    fn add(&mut self, worker: &Worker) {
        for (counts, tally) in self.tallies(worker) {
            *tally += u32::from(counts);
        }
    }

    fn subtract(&mut self, worker: &Worker) {
        for (counts, tally) in self.tallies(worker) {
            *tally -= u32::from(counts);
        }
    }
}

impl Roster {
    /// Seats a new worker on the lowest free seat.
    pub(crate) fn seat(&mut self, origin: Origin, config: &Config, now: Timestamp) -> WorkerId {
        let index = self.lowest_free_seat();
        if index as usize == self.generations.len() {
            self.generations.push(0);
        }
        let generation = self.generations[index as usize];
        self.generations[index as usize] += 1;
        let id = WorkerId { index, generation };
        let worker = Worker::new(id, origin, Limits::new(config, id), now);
        self.census.add(&worker);
        self.workers.insert(id, worker);
        id
    }

    pub(crate) fn worker(&self, id: WorkerId) -> Option<&Worker> {
        self.workers.get(&id)
    }

    pub(crate) fn worker_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.workers.get_mut(&id)
    }

    /// Moves a worker on. Phases change nowhere else.
    pub(crate) fn move_to(&mut self, id: WorkerId, phase: Phase) {
        if let Some(worker) = self.workers.get_mut(&id) {
            self.census.subtract(worker);
            worker.phase = phase;
            self.census.add(worker);
        }
    }

    pub(crate) fn remove(&mut self, id: WorkerId) -> Option<Worker> {
        let worker = self.workers.remove(&id)?;
        self.census.subtract(&worker);
        Some(worker)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Worker> + '_ {
        self.workers.values()
    }

    pub(crate) fn ids(&self) -> Vec<WorkerId> {
        self.workers.keys().copied().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Whether any worker serves or will, whoever started it.
    pub(crate) fn any_alive(&self) -> bool {
        self.census.alive > 0
    }

    /// Workers of the pool's own making that serve or will.
    pub(crate) fn own_alive(&self) -> u32 {
        self.census.own_alive
    }

    /// Workers of the pool's own making that are not ready yet.
    pub(crate) fn own_starting(&self) -> u32 {
        self.census.own_starting
    }

    /// Workers that leave and whose seats must stay empty until they are gone.
    pub(crate) fn seats_held(&self) -> u32 {
        self.census.seats_held
    }

    /// Workers that are not ready yet.
    pub(crate) fn starting(&self) -> u32 {
        self.census.starting
    }

    fn lowest_free_seat(&self) -> u32 {
        // Workers are sorted by seat, so the first gap is where counting and seats part.
        let mut next = 0;
        for id in self.workers.keys() {
            if id.index > next {
                break;
            }
            next = id.index + 1;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Leaving;

    #[test]
    fn a_seat_is_used_again_with_the_next_generation() {
        let mut roster = Roster::default();
        let seat = |roster: &mut Roster| roster.seat(Origin::Spawned, &Config::default(), Timestamp::ZERO);
        let ids = [seat(&mut roster), seat(&mut roster), seat(&mut roster)];
        assert_eq!(ids.map(|id| (id.index, id.generation)), [(0, 0), (1, 0), (2, 0)]);
        roster.remove(ids[1]);
        assert_eq!(seat(&mut roster), WorkerId { index: 1, generation: 1 });
        assert_eq!(seat(&mut roster), WorkerId { index: 3, generation: 0 });
    }

    #[test]
    fn the_census_follows_every_move() {
        let mut roster = Roster::default();
        let own = roster.seat(Origin::Spawned, &Config::default(), Timestamp::ZERO);
        let guest = roster.seat(Origin::Attached, &Config::default(), Timestamp::ZERO);
        assert_eq!((roster.own_alive(), roster.starting(), roster.any_alive()), (1, 2, true));
        roster.move_to(own, Phase::Ready { since: Timestamp::ZERO });
        assert_eq!((roster.own_alive(), roster.starting()), (1, 1));
        roster.move_to(own, Phase::Stopping { why: Leaving::Idle });
        roster.remove(guest);
        assert_eq!((roster.own_alive(), roster.starting(), roster.any_alive()), (0, 0, false));
    }
}
