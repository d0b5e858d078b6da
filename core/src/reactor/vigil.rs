//! Whether to look again for a moment before going to sleep.
//!
//! Falling asleep and being woken takes longer than many a call does. A thread that has just handed a small call over may find its answer
//! within microseconds, if it stays awake. Where that does not happen it stops trying, for a while.

use std::sync::OnceLock;
use std::time::Duration;

use crate::options::usable_cpus;

/// How long a thread stays awake at most: about what being woken takes.
pub(super) const VIGIL: Duration = Duration::from_micros(40);
/// So many in vain, one after the other, and the next ones are left out.
const IN_VAIN: u32 = 3;
/// How many are left out before it is tried again.
const LEFT_OUT: u32 = 100;

static OTHERS_WORK: OnceLock<bool> = OnceLock::new();

#[derive(Debug, Default)]
pub(super) struct Vigil {
    in_vain: u32,
    left_out: u32,
}

impl Vigil {
    /// Whether this one is likely to pay. On a single processor nobody else could work meanwhile.
    pub(super) fn is_worth_it(&mut self) -> bool {
        if self.in_vain < IN_VAIN {
            return *OTHERS_WORK.get_or_init(|| usable_cpus().get() > 1);
        }
        self.left_out += 1;
        if self.left_out <= LEFT_OUT {
            return false;
        }
        self.left_out = 0;
        self.in_vain = IN_VAIN - 1;
        true
    }

    pub(super) fn was(&mut self, in_vain: bool) {
        self.in_vain = if in_vain { self.in_vain + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_vain_is_left_out_and_tried_again_now_and_then() {
        let mut vigil = Vigil { in_vain: IN_VAIN, left_out: 0 };
        for round in 0..3 {
            assert!((0..LEFT_OUT).all(|_| !vigil.is_worth_it()), "{round}");
            assert!(vigil.is_worth_it(), "{round}");
            vigil.was(true);
        }
        assert!((0..LEFT_OUT).all(|_| !vigil.is_worth_it()));
        assert!(vigil.is_worth_it());
        vigil.was(false);
        assert_eq!(vigil.in_vain, 0);
    }
}
