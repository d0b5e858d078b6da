//! `ganger-shim reap` with real process groups.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SHIM: &str = env!("CARGO_BIN_EXE_ganger-shim");

/// A process group with a leader that does `script`; what it prints first is a pid of interest.
struct Group {
    leader: Child,
    printed: i32,
}

impl Group {
    fn start(script: &str) -> Group {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdout(Stdio::piped());
        let mut leader = command.spawn().expect("sh starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(leader.stdout.take().expect("it is piped"));
        stdout.read_line(&mut line).expect("a line");
        Group { leader, printed: line.trim().parse().expect("a pid") }
    }

    fn id(&self) -> i32 {
        self.leader.id() as i32
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = nix::sys::signal::killpg(Pid::from_raw(self.id()), Signal::SIGKILL);
        let _ = self.leader.wait();
    }
}

fn reaper(stdin: impl Into<Stdio>) -> Child {
    Command::new(SHIM).arg("reap").stdin(stdin).spawn().expect("the shim starts")
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < limit, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// True while the process runs; a zombie does not.
fn runs(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X') | None)
}

#[test]
fn at_end_of_file_every_known_group_dies_with_all_its_members() {
    let with_grandchild = Group::start("sh -c 'sleep 1000 & echo $!; wait' & wait");
    let busy = Group::start("trap '' TERM INT HUP; echo $$; while :; do :; done");
    let taken_back = Group::start("sleep 1000 & echo $!; wait");
    let never_named = Group::start("sleep 1000 & echo $!; wait");
    let mut reaper = reaper(Stdio::piped());
    let mut pipe = reaper.stdin.take().unwrap();
    write!(pipe, "+{}\n+{}\nrubbish\n+", with_grandchild.id(), taken_back.id()).unwrap();
    pipe.flush().unwrap();
    write!(pipe, "{}\n-{}\n+{}", busy.id(), taken_back.id(), never_named.id()).unwrap();
    assert!(runs(with_grandchild.printed) && runs(busy.printed));
    drop(pipe);
    assert_eq!(reaper.wait().unwrap().code(), Some(0));
    for pid in [with_grandchild.id(), with_grandchild.printed, busy.id()] {
        until("a member of a known group is gone", || !runs(pid));
    }
    assert!(runs(taken_back.printed) && runs(never_named.printed));
}

#[test]
fn polite_signals_do_not_end_it() {
    let group = Group::start("sleep 1000 & echo $!; wait");
    let mut reaper = reaper(Stdio::piped());
    let pid = Pid::from_raw(reaper.id() as i32);
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Field 6 is the session: its own once it has detached.
    until("the reaper leads a session", || stat().split(' ').nth(5) == Some(&pid.to_string()));
    for signal in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM] {
        kill(pid, signal).unwrap();
    }
    let mut pipe = reaper.stdin.take().unwrap();
    writeln!(pipe, "+{}", group.id()).unwrap();
    assert!(reaper.try_wait().unwrap().is_none());
    drop(pipe);
    assert_eq!(reaper.wait().unwrap().code(), Some(0));
    until("the group is gone", || !runs(group.printed));
}

#[test]
fn holds_no_descriptor_but_its_pipe_and_listens_on_a_nonblocking_socket_too() {
    let group = Group::start("sleep 1000 & echo $!; wait");
    let (host, shim) = UnixStream::pair().unwrap();
    shim.set_nonblocking(true).unwrap();
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    let _careless = nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_DUPFD(300)).unwrap();
    let mut reaper = reaper(OwnedFd::from(shim));
    let open = || std::fs::read_dir(format!("/proc/{}/fd", reaper.id())).unwrap().count();
    until("only 0, 1 and 2 are open", || open() == 3);
    until("stdout is nothing", || {
        std::fs::read_link(format!("/proc/{}/fd/1", reaper.id())).is_ok_and(|path| path.ends_with("null"))
    });
    writeln!(&host, "+{}", group.id()).unwrap();
    drop(host);
    assert_eq!(reaper.wait().unwrap().code(), Some(0));
    until("the group is gone", || !runs(group.printed));
}

#[test]
fn at_end_of_file_sockets_and_empty_directories_it_knows_are_gone_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let told = |path: &std::path::Path| {
        let found = std::fs::symlink_metadata(path).unwrap();
        format!("{}:{}{}\n", found.dev(), found.ino(), path.display())
    };
    std::fs::create_dir(at("private")).unwrap();
    std::fs::create_dir(at("full")).unwrap();
    std::fs::write(at("full/file"), "somebody's").unwrap();
    let sockets =
        ["private/endpoint", "taken", "forgotten"].map(|name| UnixListener::bind(at(name)).unwrap());
    let mut reaper = reaper(Stdio::piped());
    let mut pipe = reaper.stdin.take().unwrap();
    for name in ["private", "private/endpoint", "taken", "forgotten", "full", "full/file"] {
        write!(pipe, "+{}", told(&at(name))).unwrap();
    }
    write!(pipe, "-{}", told(&at("forgotten"))).unwrap();
    // Another app listens there now. The old file stays somewhere, so that the new one cannot get its number.
    std::fs::rename(at("taken"), at("old")).unwrap();
    let _successor = UnixListener::bind(at("taken")).unwrap();
    drop(pipe);
    assert_eq!(reaper.wait().unwrap().code(), Some(0));
    let left = ["private", "taken", "forgotten", "full", "full/file"].map(|name| at(name).exists());
    assert_eq!(left, [false, true, true, true, true]);
    drop(sockets);
}
