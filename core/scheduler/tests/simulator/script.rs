//! What workers and calls do in a story.

use std::time::Duration;

use ganger_scheduler::Exit;

/// How a process begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// Ready after a time; goes at once when asked to stop.
    ReadyAfter(Duration),
    /// Ready after a time; never goes when asked to stop.
    ReadyButStays(Duration),
    /// Ready after a time; answers no ping.
    ReadyButMute(Duration),
    /// There is no process at all.
    NotStarted,
    /// It dies before it is ready.
    DiesAfter(Duration, Exit),
    /// It is ready, and dies so much later with nothing asked of it.
    ReadyThenDies(Duration, Duration, Exit),
    /// Alive and never ready.
    Hangs,
}

/// What the sampler sees of every worker, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footprint {
    pub(crate) every: Duration,
    /// Bytes of a worker that has served nothing.
    pub(crate) fresh: u64,
    /// Bytes that every answered call leaves behind.
    pub(crate) leak: u64,
}

/// One attempt of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The worker says something about it before anything else.
    pub(crate) heard: bool,
    pub(crate) conduct: Conduct,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Conduct {
    /// Answers after a time, whether it is asked to stop or not.
    Answers(Duration),
    /// Never answers, deaf to being asked to stop.
    Stalls,
    /// Runs on until it is asked to stop; answers so much later.
    StopsAfter(Duration),
    /// Yields so many items, one every so often, then answers; sooner if it is asked to stop, and then one item is still on its way.
    Streams { every: Duration, items: u32 },
    /// Takes the worker with it.
    Crashes(Duration, Exit),
    /// Not one byte of it reaches the worker, which dies after a time.
    Unwritten(Duration, Exit),
    /// Answers twice.
    AnswersTwice(Duration),
    /// Answers for a call that nobody gave it, then its own.
    AnswersAnother(Duration),
    /// Answers in the name of the seat's former holder, then its own.
    AnswersAsFormer(Duration),
    /// Speaks about the call after it has answered it.
    SpeaksAfterwards(Duration),
    /// Breaks the protocol.
    Violates(Duration),
}

impl Run {
    pub(crate) fn heard(self) -> Self {
        Self { heard: true, ..self }
    }
}

impl From<Conduct> for Run {
    fn from(conduct: Conduct) -> Self {
        Self { heard: false, conduct }
    }
}
