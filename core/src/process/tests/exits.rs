//! How workers end, and that nothing of them stays.

use super::{pid_from, runs, shell, started, state, until};
use crate::process::{Exit, Launch, WorkerProcess, exit, reaper};

#[tokio::test]
async fn codes_and_signals_are_told_apart() {
    for (script, code, signal) in
        [("exit 0", Some(0), None), ("exit 7", Some(7), None), ("kill -SEGV $$", None, Some(11))]
    {
        let child = started(shell(script)).unwrap();
        let pid = child.process.pid();
        let exit = child.process.wait_exit().await;
        assert_eq!((exit.code, exit.signal, exit.status_known), (code, signal, true), "{script}");
        assert_eq!(state(pid), None, "it has been reaped");
        assert_eq!(child.process.wait_exit().await.code, code, "a second wait says the same");
    }
}

#[tokio::test]
async fn kill_group_takes_grandchildren_along() {
    let child = started(shell("sh -c 'echo $$ >&3; while :; do :; done' & wait")).unwrap();
    let grandchild = pid_from(&child.data);
    assert!(runs(grandchild));
    child.process.kill_group();
    assert_eq!(child.process.wait_exit().await.signal, Some(9));
    until("the grandchild is gone", || !runs(grandchild));
    child.process.kill_group();
}

#[tokio::test]
async fn a_graceful_exit_takes_grandchildren_along_too() {
    let child = started(shell("sleep 1000 <&- & echo $! >&3; exit 0")).unwrap();
    let grandchild = pid_from(&child.data);
    assert_eq!(child.process.wait_exit().await.code, Some(0));
    until("the grandchild is gone", || !runs(grandchild));
}

#[tokio::test]
async fn a_child_that_somebody_else_reaped_does_not_hang() {
    let child = started(shell("exit 3")).unwrap();
    let pid = i32::try_from(child.process.pid()).unwrap();
    until("it is a zombie", || exit::peek(pid).is_some());
    exit::reap(pid);
    assert_eq!(child.process.wait_exit().await, Exit::UNKNOWN);
}

#[tokio::test]
async fn one_reaped_while_we_wait_does_not_hang_either() {
    let child = started(shell("read x <&4")).unwrap();
    let pid = i32::try_from(child.process.pid()).unwrap();
    let thief = std::thread::spawn(move || {
        exit::wait(pid);
        exit::reap(pid);
    });
    drop(child.control);
    let exit = child.process.wait_exit().await;
    thief.join().unwrap();
    assert!(exit == Exit::UNKNOWN || exit.code == Some(1), "{exit:?}");
}

#[test]
fn a_dropped_worker_is_killed_and_reaped() {
    let process: WorkerProcess = started(shell("while :; do :; done")).unwrap().process;
    let pid = process.pid();
    drop(process);
    until("it is gone, zombie and all", || state(pid).is_none());
}

#[tokio::test]
async fn the_reaper_is_told_of_groups_and_started_again_when_it_dies() {
    let child = started(shell("read x <&4")).unwrap();
    let group = i32::try_from(child.process.pid()).unwrap();
    assert!(reaper::watches(group));
    let first = reaper::running().expect("a reaper runs");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(first), nix::sys::signal::Signal::SIGKILL).unwrap();
    until("another reaper runs", || reaper::running().is_some_and(|second| second != first));
    assert_eq!(state(first.unsigned_abs()), None, "the first was reaped");
    assert!(runs(child.process.pid()), "its workers were not killed");
    drop(child.control);
    child.process.wait_exit().await;
    assert!(!reaper::watches(group));
}

#[tokio::test]
async fn the_peak_of_a_worker_that_had_more_than_its_host_is_told() {
    let code = "kept = bytearray(b'x') * (400 << 20); del kept";
    let argv = ["python3", "-S", "-c", code].map(Into::into).into();
    let child = started(Launch { argv, ..Launch::default() }).unwrap();
    let peak = child.process.wait_exit().await.peak_bytes.expect("this host is smaller");
    assert!((400 << 20..500 << 20).contains(&peak), "{peak}");
}
