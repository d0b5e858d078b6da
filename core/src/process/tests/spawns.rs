//! What a worker finds when it starts.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};

use super::{all, line, reader, shell, started};
use crate::process::spawner::SpawnError;
use crate::process::{Exit, Launch};

async fn ended(child: super::Child) -> Exit {
    child.process.wait_exit().await
}

#[tokio::test]
async fn lanes_and_pipes_are_where_the_protocol_says() {
    let script = "read data <&$GANGER_DATA_FD; echo \"data $data\" >&3; read control <&$GANGER_CONTROL_FD; \
                  echo \"control $control\" >&4; echo out; echo err >&2; cat";
    let child = started(shell(script)).unwrap();
    writeln!(&*child.data, "one").unwrap();
    assert_eq!(line(&*child.data), "data one");
    writeln!(&*child.control, "two").unwrap();
    assert_eq!(line(&*child.control), "control two");
    assert_eq!((all(reader(&child.stdout)), all(reader(&child.stderr))), ("out\n".into(), "err\n".into()));
    assert_eq!(ended(child).await.code, Some(0), "stdin is empty, so cat ends");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_leads_its_group_and_has_only_its_descriptors() {
    let extra = Arc::new(File::open("/proc/self/status").unwrap().into());
    let _careless = fcntl(&extra, FcntlArg::F_DUPFD(400)).unwrap();
    let list = "import os; print(os.getpgrp(), *sorted(map(int, os.listdir('/proc/self/fd'))))";
    let argv = ["python3", "-S", "-c", list].map(Into::into).into();
    let child = started(Launch { argv, inherit: vec![extra], ..Launch::default() }).unwrap();
    // 6 is the directory being listed.
    let expected = format!("{} 0 1 2 3 4 5 6\n", child.process.pid());
    assert_eq!(all(reader(&child.stdout)), expected);
    child.process.wait_exit().await;
}

#[tokio::test]
async fn the_hosts_ends_close_on_exec_and_do_not_block() {
    let child = started(shell("read x <&4")).unwrap();
    let ends = [
        child.data.as_raw_fd(),
        child.control.as_raw_fd(),
        child.stdout.as_raw_fd(),
        child.stderr.as_raw_fd(),
    ];
    assert!(ends.iter().all(|fd| *fd > 4));
    let flags = |arg: fn() -> FcntlArg<'static>| {
        [
            fcntl(&child.data, arg()),
            fcntl(&child.control, arg()),
            fcntl(&child.stdout, arg()),
            fcntl(&child.stderr, arg()),
        ]
        .map(|flags| flags.unwrap())
    };
    for flag in flags(|| FcntlArg::F_GETFD) {
        assert!(FdFlag::from_bits_truncate(flag).contains(FdFlag::FD_CLOEXEC));
    }
    for flag in flags(|| FcntlArg::F_GETFL) {
        assert!(OFlag::from_bits_truncate(flag).contains(OFlag::O_NONBLOCK));
    }
    drop(child.control);
    child.process.wait_exit().await;
}

#[tokio::test]
async fn directory_and_environment_are_as_told() {
    let environment = vec![("COLOUR".into(), Some("red".into())), ("HOME".into(), None)];
    let launch = Launch {
        directory: Some("/".into()),
        environment,
        ..shell("echo \"$PWD $COLOUR ${HOME-none} $PYTHONUNBUFFERED\" >&3")
    };
    let child = started(launch).unwrap();
    assert_eq!(line(&*child.data), "/ red none 1");
    child.process.wait_exit().await;
}

#[tokio::test]
async fn a_missing_program_exits_127_and_says_why() {
    let launch = Launch { argv: vec!["ganger-no-such-program".into()], ..Launch::default() };
    let child = started(launch).unwrap();
    let complaint = all(reader(&child.stderr));
    assert!(
        complaint.contains("ganger-no-such-program") && complaint.contains("No such file"),
        "{complaint}"
    );
    assert_eq!(child.process.wait_exit().await.code, Some(127));
}

#[test]
fn a_zero_byte_is_an_error_not_a_panic() {
    assert!(matches!(started(shell("a\0b")), Err(SpawnError::ZeroByte(_))));
}

#[tokio::test]
async fn a_panicking_callback_does_not_end_the_workers() {
    let before = started(shell("read x <&4")).unwrap();
    crate::process::spawn(shell("a\0b"), |_| panic!("on purpose"));
    let after = started(shell("read x <&4")).unwrap();
    assert!(super::runs(before.process.pid()) && super::runs(after.process.pid()));
    for child in [before, after] {
        drop(child.control);
        assert_eq!(child.process.wait_exit().await.code, Some(1), "read saw the end of the lane");
    }
}
