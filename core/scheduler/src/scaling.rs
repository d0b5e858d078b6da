//! How many workers to start for what waits.

/// What there is and what is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Slots that waiting calls want.
    pub(crate) waiting_slots: u64,
    /// Slots that those calls will find without more workers.
    pub(crate) room: u64,
    /// Workers that serve or will: neither stopping nor killed.
    pub(crate) alive: u32,
    /// Slots of a worker.
    pub(crate) concurrency: u32,
    /// Most workers.
    pub(crate) most: u32,
}

/// Workers wanted in all: those there are, and so many more that what waits beyond their room has a place, up to the
/// pool's size.
pub(crate) fn workers_wanted(demand: Demand) -> u32 {
    let short = demand.waiting_slots.saturating_sub(demand.room);
    let more = short.div_ceil(u64::from(demand.concurrency.max(1)));
    let wanted = u64::from(demand.alive).saturating_add(more);
    u32::try_from(wanted.min(u64::from(demand.most.max(demand.alive)))).expect("bounded by two u32")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(waiting_slots: u64, room: u64, alive: u32, concurrency: u32, most: u32) -> u32 {
        workers_wanted(Demand { waiting_slots, room, alive, concurrency, most })
    }

    #[test]
    fn grows_only_as_far_as_the_room_is_short() {
        assert_eq!(wanted(0, 0, 0, 1, 4), 0);
        assert_eq!(wanted(1, 0, 0, 1, 4), 1);
        assert_eq!(wanted(1, 1, 1, 1, 4), 1);
        assert_eq!(wanted(64, 0, 0, 16, 8), 4);
        assert_eq!(wanted(65, 0, 0, 16, 8), 5);
        assert_eq!(wanted(1_000, 0, 2, 1, 4), 4);
        assert_eq!(wanted(9, 0, 5, 1, 4), 5);
    }
}
