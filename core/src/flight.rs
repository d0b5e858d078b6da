//! A flight record, played again: what a pool was told, and under each piece of news what it did about it.

use std::fmt::Write as _;

use ganger_scheduler::{BeginningLost, RecordError, Recording, Scheduler, Timestamp};

/// Why a record cannot be played, or was played in vain.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It is not one.
    #[error("this is no flight record: {0}")]
    NoRecord(#[from] RecordError),
    /// It begins too late.
    #[error("{0}; records that GANGER_FLIGHT_RECORDER=FOLDER writes at the end of pools are longer")]
    Late(#[from] BeginningLost),
    /// It is of another version of the library, or was changed.
    #[error("the pool had counted otherwise, {recorded}; played again it is {played}")]
    Different {
        /// What the record says.
        recorded: String,
        /// What comes of it here.
        played: String,
    },
}

/// Plays a record of [`Pool::flight_record`](crate::Pool::flight_record), and tells what happens: a line for each piece of news with its moment in
/// nanoseconds, and below it what the pool does then.
///
/// # Errors
/// If it is no record, has lost its beginning, or ends otherwise than it did.
pub fn replay(record: &str) -> Result<String, ReplayError> {
    let recording: Recording = record.parse()?;
    let mut story = String::new();
    let scheduler = Scheduler::replay(&recording, |entry, actions| {
        let _ = writeln!(story, "{entry}");
        for action in actions {
            let _ = writeln!(story, "    {action}");
        }
    })?;
    let end = recording.entries.last().map_or(Timestamp::ZERO, |entry| entry.at);
    let played = scheduler.stats(end).counters;
    if played == recording.counters {
        return Ok(story);
    }
    let told = |counters| format!("{counters:?}");
    Err(ReplayError::Different { recorded: told(recording.counters), played: told(played) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = include_str!("../scheduler/tests/records/crashes-and-retries.txt");

    #[test]
    fn what_happened_happens_again_and_is_told() {
        let story = replay(RECORD).unwrap();
        assert!(story.contains("\n    spawn 0.0\n"), "{story}");
        assert!(story.contains("[retry "), "{story}");
        assert!(story.trim_end().ends_with("closed"), "{story}");
    }

    #[test]
    fn what_cannot_be_played_says_why() {
        let fails = |text: &str| replay(text).unwrap_err().to_string();
        assert!(fails("hello").contains("line 1"), "{}", fails("hello"));
        let late = RECORD.replacen("\nlost 0\n", "\nlost 7\n", 1);
        assert!(fails(&late).contains("first 7 entries") && fails(&late).contains("GANGER_FLIGHT_RECORDER"));
        let changed = RECORD.replacen("counted submitted=", "counted submitted=9", 1);
        assert!(fails(&changed).contains("counted otherwise"), "{}", fails(&changed));
    }
}
