//! Ctrl-C and SIGTERM, without which a call would be cut off before its worker could stop.

use std::fmt;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// What asks this command to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// What service managers send.
    Terminate,
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Signal::Interrupt => "interrupted",
            Signal::Terminate => "terminated",
        })
    }
}

/// Both signals, from when it is made on.
#[derive(Debug)]
pub(crate) struct Interrupts {
    interrupt: Stream,
    terminate: Stream,
}

impl Interrupts {
    /// Takes the signals over. Needs a runtime.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
