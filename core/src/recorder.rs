//! The flight recorder: keeps the last things that a pool's scheduler was told, as they are. They become text only when somebody asks, or
//! at the end of a pool if `GANGER_FLIGHT_RECORDER` names a folder for it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, io, process};

use ganger_scheduler::{Config, Counters, Entry, Heard, Recording, Timestamp};

/// So many entries are kept: about 1.5 MB, of which only what was written to takes memory. A call is three of them.
const MOST_ENTRIES: usize = 10_000;
/// So many if they are to be written down, because only a record from the beginning can be played: 150 MB at most.
const MOST_TO_WRITE: usize = 1_000_000;

#[derive(Debug)]
pub(crate) struct Recorder {
    config: Config,
    most: usize,
    lost: u64,
    entries: VecDeque<Entry>,
}

impl Recorder {
    pub(crate) fn new(config: Config) -> Self {
        Self::keeping(if folder().is_some() { MOST_TO_WRITE } else { MOST_ENTRIES }, config)
    }

    fn keeping(most: usize, config: Config) -> Self {
        Self { config, most, lost: 0, entries: VecDeque::with_capacity(most.min(MOST_ENTRIES)) }
    }

    /// On the way of every call: one copy of a hundred bytes and a half, no allocation.
    pub(crate) fn note(&mut self, at: Timestamp, heard: Heard) {
        if self.entries.len() == self.most {
            self.entries.pop_front();
            self.lost += 1;
        }
        self.entries.push_back(Entry { at, heard });
    }

    pub(crate) fn recording(&self, counters: Counters) -> Recording {
        let entries = self.entries.iter().cloned().collect();
        Recording { config: self.config.clone(), lost: self.lost, entries, counters }
    }
}

/// Where records are written at the end of pools, if that is wanted.
pub(crate) fn folder() -> Option<PathBuf> {
    env::var_os("GANGER_FLIGHT_RECORDER").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Writes a record to a file of its own.
pub(crate) fn write_down(recording: &Recording, pool: &str, folder: &Path) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(1);
    let nth = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let plain = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    let pool: String = pool.chars().map(plain).collect();
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{pool}-{}-{nth}.txt", process::id())), recording.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ganger_scheduler::{CallId, Input, Scheduler};

    #[test]
    fn the_oldest_entries_go_first_and_are_counted() {
        let mut recorder = Recorder::keeping(3, Config::default());
        for call in 1..=5 {
            recorder.note(Timestamp::ZERO, Heard::Input(Input::Cancel { call: CallId(call) }));
        }
        let recording = recorder.recording(Counters::default());
        let kept: Vec<String> = recording.entries.iter().map(ToString::to_string).collect();
        assert_eq!(
            (recording.lost, kept),
            (2, vec!["0 cancel 3".into(), "0 cancel 4".into(), "0 cancel 5".into()])
        );
        let read: Recording = recording.to_string().parse().unwrap();
        assert!(Scheduler::replay(&read, |_, _| {}).is_err(), "it lacks its beginning");
    }

    #[test]
    fn a_record_is_written_to_a_file_named_for_its_pool() {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recorder::new(Config::default()).recording(Counters::default());
        write_down(&recording, "my/pool", &folder.path().join("new")).unwrap();
        let file = fs::read_dir(folder.path().join("new")).unwrap().next().unwrap().unwrap();
        assert!(file.file_name().to_string_lossy().starts_with("my-pool-"));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), recording.to_string());
    }

    #[test]
    fn what_is_kept_is_bounded_as_stated() {
        assert!(MOST_ENTRIES * size_of::<Entry>() <= 1_500_000, "{} bytes an entry", size_of::<Entry>());
        let recorder = Recorder::new(Config::default());
        assert_eq!(recorder.entries.capacity(), MOST_ENTRIES, "it never grows");
    }
}
