//! The signal that ended a process, by name.

use std::fmt;

use crate::shape::{FieldKind, Shaped};

/// The number of a signal; shown as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(pub i32);

impl Signal {
    /// `SIGKILL`, if the system has a name for the number.
    #[cfg(unix)]
    pub fn name(self) -> Option<&'static str> {
        nix::sys::signal::Signal::try_from(self.0).ok().map(|signal| signal.as_str())
    }

    /// Elsewhere nothing ends by a signal.
    #[cfg(not(unix))]
    pub fn name(self) -> Option<&'static str> {
        None
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

impl serde::Serialize for Signal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Shaped for Signal {
    const KIND: FieldKind = FieldKind::Text;
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        for (number, name) in
            [(9, "SIGKILL"), (11, "SIGSEGV"), (15, "SIGTERM"), (6, "SIGABRT"), (77, "signal 77")]
        {
            assert_eq!(Signal(number).to_string(), name);
        }
    }
}
