//! What a forked child of the host has, and what stays when a host is killed. Each test runs alone in a process of its
//! own: forking a test program while other tests run would test the other tests' locks.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::{Child, line, pid_from, runs, shell, started, until};
use crate::process::{ProcessTag, fork as forks, reaper};

/// True in a process that runs this one test. Elsewhere starts such a process and checks that it succeeds.
fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let output = by_itself(test).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

fn by_itself(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("process::tests::forks::{test}"), "--nocapture", "--test-threads=1"]);
    command.env(ALONE, "1");
    command
}

/// Runs it in a forked child and waits for that; panics if it panicked.
fn in_a_fork(check: impl FnOnce()) {
    let child = forked(check);
    assert_eq!(
        waitpid(child, None).unwrap(),
        WaitStatus::Exited(child, 0),
        "the check failed in the forked child"
    );
}

fn forked(work: impl FnOnce()) -> Pid {
    // SAFETY: the child only runs what a forked child of a host is promised to be able to do.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
            // SAFETY: ends the child without running the test program's end a second time.
            unsafe { nix::libc::_exit(i32::from(failed)) }
        }
    }
}

/// Whatever has the number now, if anything.
fn open(fd: i32) -> bool {
    // SAFETY: the number is only passed to fcntl, which says EBADF if it is not open.
    fcntl(unsafe { BorrowedFd::borrow_raw(fd) }, FcntlArg::F_GETFD).is_ok()
}

fn echo() -> Child {
    started(shell("while read line <&3; do echo \"$line\" >&3; done")).unwrap()
}

fn echoes(child: &Child) -> bool {
    writeln!(&*child.data, "hello").unwrap();
    line(&*child.data) == "hello"
}

#[test]
fn a_forked_child_has_none_of_the_hosts_descriptors() {
    if !alone("a_forked_child_has_none_of_the_hosts_descriptors") {
        return;
    }
    let (tag, child) = (ProcessTag::here(), echo());
    let ends = [
        child.data.as_raw_fd(),
        child.control.as_raw_fd(),
        child.stdout.as_raw_fd(),
        child.stderr.as_raw_fd(),
    ];
    assert!(tag.is_here() && !forks::is_forked_child());
    in_a_fork(|| {
        assert!(!tag.is_here() && forks::is_forked_child());
        assert!(!ends.into_iter().any(open));
    });
    assert!(ends.into_iter().all(open) && echoes(&child), "the host's own are untouched");
}

#[test]
fn dropping_an_inherited_worker_touches_nobody() {
    if !alone("dropping_an_inherited_worker_touches_nobody") {
        return;
    }
    let kept = echo();
    let mut slot = Some(echo());
    in_a_fork(|| {
        let inherited = slot.take().unwrap();
        let pid = inherited.process.pid();
        let numbers: Vec<i32> = [inherited.data.as_raw_fd(), inherited.stdout.as_raw_fd()].into();
        // The numbers are free here, so that others get them.
        let others: Vec<File> = (0..64).map(|_| File::open("/dev/null").unwrap()).collect();
        let reused =
            numbers.into_iter().filter(|fd| others.iter().any(|other| other.as_raw_fd() == *fd)).count();
        assert_eq!(reused, 2);
        drop(inherited);
        assert!(others.iter().all(|other| open(other.as_raw_fd())));
        assert!(runs(pid), "the host's worker is not killed");
    });
    assert!(echoes(&kept) && echoes(&slot.unwrap()));
}

#[test]
fn a_forked_child_has_workers_and_a_runtime_of_its_own() {
    if !alone("a_forked_child_has_workers_and_a_runtime_of_its_own") {
        return;
    }
    let child = echo();
    let (runtime, reaper) = (crate::runtime::handle().unwrap(), reaper::running());
    in_a_fork(|| {
        let own_runtime = crate::runtime::handle().unwrap();
        let own = echo();
        assert!(echoes(&own));
        assert_ne!(reaper::running(), reaper);
        drop(own.control);
        drop(own.data);
        let exit = own_runtime.block_on(own_runtime.spawn(async move { own.process.wait_exit().await }));
        assert!(exit.unwrap().status_known);
    });
    assert!(echoes(&child));
    let exit = runtime.block_on(async move {
        child.process.kill_group();
        child.process.wait_exit().await
    });
    assert_eq!(exit.signal, Some(9));
}

#[test]
fn forks_at_any_moment_leak_nothing_and_hang_nothing() {
    if !alone("forks_at_any_moment_leak_nothing_and_hang_nothing") {
        return;
    }
    let first = echo();
    let churn = std::thread::spawn(|| (0..30).for_each(|_| drop(started(shell("read x <&4")))));
    while !churn.is_finished() {
        in_a_fork(|| {
            let sockets = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let sockets = sockets.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            let left: Vec<_> = sockets.filter(|path| path.to_string_lossy().starts_with("socket:")).collect();
            assert!(left.is_empty(), "{left:?}");
        });
    }
    churn.join().unwrap();
    assert!(echoes(&first));
}

/// A host with a stuck worker, a grandchild, and a forked child that lives on; it prints their pids and waits.
#[test]
#[ignore = "a part of the test below"]
fn host_that_will_be_killed() {
    let worker = started(shell("sh -c 'echo $$ >&3; while :; do :; done' & while :; do :; done")).unwrap();
    let grandchild = pid_from(&worker.data);
    let fork = forked(|| {
        loop {
            std::thread::park();
        }
    });
    println!("\npids {} {grandchild} {fork}", worker.process.pid());
    loop {
        std::thread::park();
    }
}

#[test]
fn nothing_outlives_a_killed_host_but_what_it_forked() {
    let mut host =
        by_itself("host_that_will_be_killed").arg("--ignored").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let pids = lines.find_map(|line| line.unwrap().strip_prefix("pids ").map(str::to_owned)).unwrap();
    let pids: Vec<u32> = pids.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| runs(*pid)));
    host.kill().unwrap();
    host.wait().unwrap();
    let [worker, grandchild, fork] = pids[..] else { panic!("three pids") };
    until("the stuck worker is gone", || !runs(worker));
    until("its child is gone", || !runs(grandchild));
    assert!(runs(fork));
    nix::sys::signal::kill(Pid::from_raw(fork.cast_signed()), nix::sys::signal::Signal::SIGKILL).unwrap();
    until("the forked child is gone", || !runs(fork));
}

const ALONE: &str = "GANGER_TEST_ALONE";
