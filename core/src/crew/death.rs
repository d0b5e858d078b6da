//! What a death looks like, for those who ask why: how the process ended, and what that suggests.

use ganger_scheduler::{Exit as ExitNews, Timestamp, WorkerId};

use crate::error::{DeathCause, Signal, WorkerDeath};
use crate::sampler::{Memory, OomKills};
use crate::shared::Member;

/// What is left of a worker.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) exit: ExitNews,
    pub(super) stderr_tail: String,
    /// The most physical memory that its process ever had, where the system tells.
    pub(super) peak_bytes: Option<u64>,
}

impl Remains {
    /// Of one whose process is not ours, or never was.
    pub(super) fn of(exit: ExitNews) -> Remains {
        Remains { exit, stderr_tail: String::new(), peak_bytes: None }
    }
}

pub(super) fn record(worker: WorkerId, member: &Member, remains: Remains, now: Timestamp) -> WorkerDeath {
    let manner = Manner::of(remains.exit);
    let signs = Signs {
        limit: member.memory_limit,
        latest: member.past.latest(),
        peak_bytes: remains.peak_bytes,
        stderr_tail: &remains.stderr_tail,
        oom_kills: member.oom_kills_at_birth.as_ref(),
    };
    let cause = if member.too_slow { DeathCause::StartTimeout } else { suspicion(manner, &signs) };
    let mut memory = member.past.memory();
    if cause == DeathCause::MemoryLimit {
        memory.extend(signs.last_bytes().filter(|last| memory.last().is_none_or(|seen| seen < last)));
    }
    WorkerDeath {
        pid: member.pid(),
        index: worker.index,
        generation: worker.generation,
        code: manner.code(),
        signal: manner.signal(),
        cause,
        culprit: None,
        stderr_tail: remains.stderr_tail,
        last_calls: member.past.calls(),
        memory,
        uptime_ms: u64::try_from(now.since(member.born_at).as_millis()).unwrap_or(u64::MAX),
    }
}

#[derive(Clone, Copy, Debug)]
enum Manner {
    Code(i32),
    Signal(i32),
    Unknown,
}

impl Manner {
    fn of(exit: ExitNews) -> Manner {
        match exit {
            ExitNews::Code(code) => Manner::Code(code),
            ExitNews::Signal(signal) => Manner::Signal(signal),
            ExitNews::Unknown | ExitNews::NotStarted | ExitNews::Detached => Manner::Unknown,
        }
    }

    fn code(self) -> Option<i32> {
        if let Manner::Code(code) = self { Some(code) } else { None }
    }

    fn signal(self) -> Option<Signal> {
        if let Manner::Signal(signal) = self { Some(Signal(signal)) } else { None }
    }

    /// An allocation that is refused makes a program give up or stumble; nobody sends it a signal for that.
    fn may_be_its_own(self) -> bool {
        match self {
            Manner::Code(code) => code != 0,
            Manner::Signal(signal) => !FROM_OUTSIDE.contains(&signal),
            Manner::Unknown => false,
        }
    }
}

/// What there is to go by.
struct Signs<'a> {
    limit: Option<u64>,
    latest: Option<Memory>,
    peak_bytes: Option<u64>,
    stderr_tail: &'a str,
    oom_kills: Option<&'a OomKills>,
}

impl Signs<'_> {
    /// The system only refuses memory beyond the limit; what a program makes of that is seen from what it had, or heard from what it said.
    fn reached_the_limit(&self) -> bool {
        let reached = |limit: u64| self.limited_bytes().is_some_and(|used| used >= limit / 10 * 9);
        self.limit.is_some_and(|limit| reached(limit) || self.complained_of_memory())
    }

    /// Of what the limit counts: the last that was seen, and what has come since.
    fn limited_bytes(&self) -> Option<u64> {
        match (self.latest, self.peak_bytes) {
            (Some(seen), peak) => {
                let since = peak.map_or(0, |peak| peak.saturating_sub(seen.own_resident_bytes));
                Some(seen.own_limited_bytes + since)
            }
            (None, peak) => peak,
        }
    }

    /// What it used itself at its end.
    fn last_bytes(&self) -> Option<u64> {
        Some(self.peak_bytes?.saturating_sub(self.latest.map_or(0, |seen| seen.shared_bytes)))
    }

    fn complained_of_memory(&self) -> bool {
        let start = self.stderr_tail.len().saturating_sub(LAST_WORDS_BYTES);
        let last_words: String = self.stderr_tail.bytes().skip(start).map(char::from).collect();
        let last_words = last_words.to_ascii_lowercase();
        COMPLAINTS.iter().any(|complaint| last_words.contains(complaint))
    }
}

/// What a death that nobody here asked for looks like.
fn suspicion(manner: Manner, signs: &Signs<'_>) -> DeathCause {
    match manner {
        _ if manner.may_be_its_own() && signs.reached_the_limit() => DeathCause::MemoryLimit,
        Manner::Signal(SIGKILL) if signs.oom_kills.is_some_and(OomKills::have_risen) => DeathCause::OomKiller,
        Manner::Signal(_) => DeathCause::Signal,
        Manner::Code(_) | Manner::Unknown => DeathCause::Exit,
    }
}

/// The same number on every Unix.
const SIGKILL: i32 = 9;
/// Hang-up, interrupt, kill, terminate: sent by somebody.
const FROM_OUTSIDE: [i32; 4] = [1, 2, SIGKILL, 15];
/// An earlier complaint, from which the program recovered, says nothing about its end.
const LAST_WORDS_BYTES: usize = 4096;
/// How C and C++ libraries, Python, Rust, V8 and Go say that they were refused memory.
const COMPLAINTS: [&str; 6] = [
    "cannot allocate memory",
    "bad_alloc",
    "failed to allocate",
    "memoryerror",
    "memory allocation of",
    "out of memory",
];

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn signs() -> Signs<'static> {
        let latest = Memory { own_resident_bytes: 50 * MB, own_limited_bytes: 60 * MB, ..Memory::default() };
        Signs {
            limit: Some(300 * MB),
            latest: Some(latest),
            peak_bytes: None,
            stderr_tail: "",
            oom_kills: None,
        }
    }

    #[test]
    fn a_worker_that_had_what_it_may_have_is_suspected_of_having_wanted_more() {
        let near = Memory { own_resident_bytes: 200 * MB, own_limited_bytes: 280 * MB, ..Memory::default() };
        let near = || Signs { latest: Some(near), ..signs() };
        for manner in [Manner::Signal(6), Manner::Signal(11), Manner::Code(1)] {
            assert_eq!(suspicion(manner, &near()), DeathCause::MemoryLimit, "{manner:?}");
        }
        for (manner, cause) in [
            (Manner::Code(0), DeathCause::Exit),
            (Manner::Unknown, DeathCause::Exit),
            (Manner::Signal(SIGKILL), DeathCause::Signal),
            (Manner::Signal(15), DeathCause::Signal),
        ] {
            assert_eq!(suspicion(manner, &near()), cause, "{manner:?}");
        }
        let unlimited = Signs { limit: None, ..near() };
        assert_eq!(suspicion(Manner::Signal(11), &unlimited), DeathCause::Signal);
    }

    #[test]
    fn the_peak_shows_what_no_sample_saw() {
        for (peak, cause) in [
            (None, DeathCause::Signal),
            (Some(200), DeathCause::Signal),
            (Some(270), DeathCause::MemoryLimit),
        ] {
            let signs = Signs { peak_bytes: peak.map(|peak| peak * MB), ..signs() };
            assert_eq!(suspicion(Manner::Signal(11), &signs), cause, "{peak:?}");
        }
        let unseen = Signs { latest: None, peak_bytes: Some(290 * MB), ..signs() };
        assert_eq!(suspicion(Manner::Signal(11), &unseen), DeathCause::MemoryLimit);
    }

    #[test]
    fn last_words_about_memory_count_and_old_ones_do_not() {
        let old = format!("MemoryError\n{}", "something else\n".repeat(400));
        for (words, cause) in [
            ("terminate called after throwing an instance of 'std::bad_alloc'", DeathCause::MemoryLimit),
            ("memory allocation of 1048576 bytes failed", DeathCause::MemoryLimit),
            ("FATAL ERROR: … JavaScript heap out of memory", DeathCause::MemoryLimit),
            ("ValueError: 3", DeathCause::Signal),
            (&old, DeathCause::Signal),
        ] {
            let signs = Signs { stderr_tail: words, ..signs() };
            assert_eq!(suspicion(Manner::Signal(6), &signs), cause, "{words}");
            let unlimited = Signs { limit: None, ..signs };
            assert_eq!(suspicion(Manner::Signal(6), &unlimited), DeathCause::Signal, "{words}");
        }
    }
}
