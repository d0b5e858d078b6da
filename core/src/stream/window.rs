//! Credit of one direction of a stream, as the side that reads keeps it (R29).

use ganger_protocol::message::Credit;
use ganger_protocol::{STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS};

/// What the writer may still send, and what it is to hear of.
#[derive(Debug)]
pub(crate) struct Window {
    items: u32,
    bytes: i64,
    /// Used up by the reader since the last credit.
    owed: Credit,
}

impl Default for Window {
    fn default() -> Self {
        let bytes = STREAM_CREDIT_BYTES.cast_signed();
        Self { items: STREAM_CREDIT_ITEMS, bytes, owed: Credit::default() }
    }
}

impl Window {
    /// An item has come. False: there was no credit for it.
    pub(crate) fn spend(&mut self, bytes: u64) -> bool {
        if self.items == 0 || self.bytes <= 0 {
            return false;
        }
        self.items -= 1;
        self.bytes = self.bytes.saturating_sub_unsigned(bytes);
        true
    }

    /// The reader has done with an item of so many bytes.
    pub(crate) fn used(&mut self, bytes: u64) {
        self.owed.items += 1;
        self.owed.bytes += bytes;
    }

    /// What the writer is to hear, once half of what it may have is used up: a frame for every item would be as many again.
    pub(crate) fn due(&mut self) -> Option<Credit> {
        let half = self.owed.items >= STREAM_CREDIT_ITEMS / 2 || self.owed.bytes >= STREAM_CREDIT_BYTES / 2;
        half.then(|| {
            let credit = std::mem::take(&mut self.owed);
            self.items += credit.items;
            self.bytes = self.bytes.saturating_add_unsigned(credit.bytes);
            credit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_has_a_window_and_no_more_until_half_of_it_is_used() {
        let mut window = Window::default();
        for _ in 0..STREAM_CREDIT_ITEMS {
            assert!(window.spend(1));
        }
        assert!(!window.spend(1), "the 65th");
        for _ in 1..STREAM_CREDIT_ITEMS / 2 {
            window.used(1);
            assert_eq!(window.due(), None);
        }
        window.used(1);
        let half = STREAM_CREDIT_ITEMS / 2;
        assert_eq!(window.due(), Some(Credit { items: half, bytes: half.into() }));
        assert_eq!(window.due(), None);
        assert!((0..half).all(|_| window.spend(1)) && !window.spend(1));
    }

    #[test]
    fn one_item_may_be_beyond_the_window_and_the_next_waits_for_it() {
        let mut window = Window::default();
        assert!(window.spend(STREAM_CREDIT_BYTES * 10));
        assert!(!window.spend(0), "bytes are below zero");
        window.used(STREAM_CREDIT_BYTES * 10);
        assert_eq!(window.due(), Some(Credit { items: 1, bytes: STREAM_CREDIT_BYTES * 10 }));
        assert!(window.spend(0));
    }
}
