//! Real workers, started and ended. This test program is its own shim.

mod exits;
mod forks;
mod spawns;

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::spawner::SpawnError;
use super::{Child, Launch, spawn};

/// Runs before the test program's `main`, so that it may serve as the shim without a `main` of its own.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BE_THE_SHIM_IF_ASKED: extern "C" fn() = {
    extern "C" fn ask() {
        ganger_shim::run_if_asked();
        super::shim_path::serve_from_own_executable();
    }
    ask
};

/// A worker that is a shell script.
pub(crate) fn shell(script: &str) -> Launch {
    Launch { argv: ["sh", "-c", script].map(Into::into).into(), ..Launch::default() }
}

/// Starts it and waits until it has been.
pub(crate) fn started(launch: Launch) -> Result<Child, SpawnError> {
    let (told, outcome) = mpsc::channel();
    spawn(launch, move |started| told.send(started).expect("the test waits"));
    outcome.recv().expect("the spawner answers")
}

/// Polls until it is true.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < limit, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// True while the process runs; a zombie does not.
#[cfg(target_os = "linux")]
pub(crate) fn runs(pid: u32) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// `R`, `S`, `Z`…; None if there is no such process.
#[cfg(target_os = "linux")]
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// Everything up to the end of a non-blocking stream.
fn all(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    until("the stream ends", || {
        let mut piece = [0; 4096];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return true,
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
                Err(error) => panic!("{error}"),
            }
        }
    });
    String::from_utf8(bytes).expect("text")
}

/// The next line from a lane or pipe.
fn line(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    until("a line comes", || {
        let mut byte = [0];
        while stream.read(&mut byte).is_ok_and(|count| count == 1) {
            if byte[0] == b'\n' {
                return true;
            }
            bytes.push(byte[0]);
        }
        false
    });
    String::from_utf8(bytes).expect("text")
}

/// The next line as a process id.
pub(crate) fn pid_from(lane: &UnixStream) -> u32 {
    line(lane).parse().expect("a pid")
}

/// A pipe's reading end as a `Read`.
fn reader(pipe: &impl std::os::fd::AsFd) -> std::fs::File {
    pipe.as_fd().try_clone_to_owned().expect("a free descriptor").into()
}
