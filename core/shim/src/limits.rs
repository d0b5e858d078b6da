//! Limits that the operating system holds a worker to.

use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// One limit: `RESOURCE=BYTES` (`cpu` counts seconds, `nofile` descriptors).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    name: &'static str,
    resource: Resource,
    amount: u64,
}

impl Limit {
    /// Reads `RESOURCE=BYTES`.
    pub(crate) fn parse(text: &str) -> Result<Limit, String> {
        let (name, amount) = text.split_once('=').ok_or_else(|| format!("{text:?} is not RESOURCE=BYTES"))?;
        let (name, resource) = *RESOURCES
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("unknown resource {name:?}"))?;
        let amount = amount.parse().map_err(|_| format!("{amount:?} is not an amount"))?;
        Ok(Limit { name, resource, amount })
    }

    /// Sets it for this process and what it becomes. It never raises a limit that is lower already.
    pub(crate) fn apply(self) -> Result<(), String> {
        let set = || {
            let (_, hard) = getrlimit(self.resource)?;
            // A system where amounts are signed has no larger one.
            let amount = (self.amount.min(i64::MAX.unsigned_abs()) as libc::rlim_t).min(hard);
            setrlimit(self.resource, amount, amount)
        };
        set().map_err(|error| format!("cannot limit {} to {}: {}", self.name, self.amount, error.desc()))
    }
}

const RESOURCES: &[(&str, Resource)] = &[
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    ("as", Resource::RLIMIT_AS),
    ("core", Resource::RLIMIT_CORE),
    ("cpu", Resource::RLIMIT_CPU),
    ("data", Resource::RLIMIT_DATA),
    ("fsize", Resource::RLIMIT_FSIZE),
    ("nofile", Resource::RLIMIT_NOFILE),
    ("stack", Resource::RLIMIT_STACK),
];
