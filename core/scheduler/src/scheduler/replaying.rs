//! Plays a flight record.

use super::Scheduler;
use crate::action::Action;
use crate::record::{BeginningLost, Entry, Heard, Recording};

impl Scheduler {
    /// Tells a new scheduler all that is in a record, at the same times. `seen` gets every entry with what the scheduler asks for then, which is
    /// what it asked for when the record was made.
    ///
    /// # Errors
    /// If the beginning of the record was not kept.
    pub fn replay(
        recording: &Recording,
        mut seen: impl FnMut(&Entry, Vec<Action>),
    ) -> Result<Self, BeginningLost> {
        if recording.lost > 0 {
            return Err(BeginningLost { lost: recording.lost });
        }
        let mut scheduler = Self::new(recording.config.clone());
        for entry in &recording.entries {
            match &entry.heard {
                Heard::Input(input) => scheduler.handle(entry.at, input.clone()),
                Heard::Clock => scheduler.handle_timeout(entry.at),
            }
            let actions = std::iter::from_fn(|| scheduler.poll_action()).collect();
            seen(entry, actions);
        }
        Ok(scheduler)
    }
}
