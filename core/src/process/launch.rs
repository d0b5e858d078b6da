//! What a worker is started with, and what that becomes: the shim's arguments and the worker's environment.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsString};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::fork;

/// A worker's program and circumstances.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    /// The program (searched in the worker's PATH if it has no slash) and its arguments; not empty.
    pub(crate) argv: Vec<OsString>,
    /// Where it starts; the host's directory if none. A relative program is looked for from here.
    pub(crate) directory: Option<PathBuf>,
    /// Changes to the host's environment; None takes a variable away.
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    /// The most private memory that the operating system lets one process of the worker have, in bytes.
    pub(crate) memory_limit: Option<u64>,
    /// More descriptors to inherit: they become 5, 6 and so on in the worker. 16 at most.
    pub(crate) inherit: Vec<Arc<OwnedFd>>,
}

impl Launch {
    /// The arguments for the shim, after its program's name.
    pub(super) fn shim_arguments(&self) -> Result<Vec<CString>, NulError> {
        let mut arguments: Vec<OsString> =
            vec!["exec".into(), "--parent".into(), fork::pid().to_string().into()];
        if let Some(directory) = &self.directory {
            arguments.extend(["--directory".into(), directory.into()]);
        }
        if let Some(bytes) = self.memory_limit {
            arguments.extend(["--limit".into(), format!("{MEMORY_RESOURCE}={bytes}").into()]);
        }
        arguments.extend(["--keep".into(), self.kept().into(), "--".into()]);
        arguments.extend(self.argv.iter().cloned());
        arguments.into_iter().map(|argument| CString::new(argument.into_vec())).collect()
    }

    /// The whole environment, `NAME=VALUE` each.
    pub(super) fn variables(&self) -> Result<Vec<CString>, NulError> {
        let mut all = host_variables();
        // Python would otherwise keep what it prints until it exits.
        all.insert("PYTHONUNBUFFERED".into(), "1".into());
        for (name, value) in &self.environment {
            match value {
                Some(value) => drop(all.insert(name.clone(), value.clone())),
                None => drop(all.remove(name)),
            }
        }
        all.insert("GANGER_DATA_FD".into(), DATA_FD.to_string().into());
        all.insert("GANGER_CONTROL_FD".into(), CONTROL_FD.to_string().into());
        joined(all)
    }

    fn kept(&self) -> String {
        let inherited = FIRST_INHERITED_FD..FIRST_INHERITED_FD + self.inherit.len() as RawFd;
        let all = [DATA_FD, CONTROL_FD].into_iter().chain(inherited);
        all.map(|fd| fd.to_string()).collect::<Vec<_>>().join(",")
    }
}

/// What the host has, for its other children.
pub(super) fn host_variables() -> BTreeMap<OsString, OsString> {
    let passed_on = |name: &OsString| !NOT_PASSED_ON.iter().any(|not| name == not);
    std::env::vars_os().filter(|(name, _)| passed_on(name)).collect()
}

/// As a process gets it: `NAME=VALUE` each.
pub(super) fn joined(variables: BTreeMap<OsString, OsString>) -> Result<Vec<CString>, NulError> {
    let pairs = variables.into_iter().map(|(name, value)| [name.into_vec(), value.into_vec()].join(&b'='));
    pairs.map(CString::new).collect()
}

/// The data lane in the worker (SPEC 1.1).
pub(super) const DATA_FD: RawFd = 3;
/// The control lane in the worker.
pub(super) const CONTROL_FD: RawFd = 4;
/// The first of `Launch::inherit`.
pub(crate) const FIRST_INHERITED_FD: RawFd = 5;

/// Linux counts private memory under `data`; elsewhere only the whole address space is limited.
const MEMORY_RESOURCE: &str = if cfg!(target_os = "linux") { "data" } else { "as" };
/// A host may itself be a worker that was told these.
const NOT_PASSED_ON: [&str; 4] = ["GANGER_CONTROL_FD", "GANGER_DATA_FD", "GANGER_ENDPOINT", "GANGER_TOKEN"];

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(strings: Vec<CString>) -> Vec<String> {
        strings.into_iter().map(|string| string.into_string().unwrap()).collect()
    }

    #[test]
    fn arguments_say_everything() {
        let launch = Launch {
            argv: vec!["python3".into(), "-c".into(), "pass".into()],
            directory: Some("/srv".into()),
            memory_limit: Some(1 << 30),
            inherit: vec![Arc::new(std::fs::File::open("/dev/null").unwrap().into())],
            ..Launch::default()
        };
        let arguments = texts(launch.shim_arguments().unwrap()).join(" ");
        let resource = if cfg!(target_os = "linux") { "data" } else { "as" };
        let parent = std::process::id();
        let expected = format!(
            "exec --parent {parent} --directory /srv --limit {resource}=1073741824 --keep 3,4,5 -- python3 -c pass"
        );
        assert_eq!(arguments, expected);
    }

    #[test]
    fn the_environment_is_the_hosts_with_changes() {
        let changes = [("COLOUR", Some("red")), ("PATH", None), ("GANGER_DATA_FD", Some("77"))];
        let environment =
            changes.map(|(name, value)| (name.into(), value.map(OsString::from))).into_iter().collect();
        let variables = texts(Launch { environment, ..Launch::default() }.variables().unwrap());
        for expected in ["COLOUR=red", "GANGER_DATA_FD=3", "GANGER_CONTROL_FD=4", "PYTHONUNBUFFERED=1"] {
            assert!(variables.iter().any(|variable| variable == expected), "{expected} in {variables:?}");
        }
        assert!(!variables.iter().any(|variable| variable.starts_with("PATH=")));
    }

    #[test]
    fn a_zero_byte_is_refused() {
        let launch = Launch { argv: vec!["a\0b".into()], ..Launch::default() };
        assert!(launch.shim_arguments().is_err());
    }
}
