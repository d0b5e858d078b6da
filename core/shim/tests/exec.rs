//! `ganger-shim exec` with real processes.
#![cfg(unix)]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Command, Output};

use nix::fcntl::{FcntlArg, fcntl};

const SHIM: &str = env!("CARGO_BIN_EXE_ganger-shim");

fn shim(arguments: &[&str]) -> Output {
    Command::new(SHIM).arg("exec").args(arguments).output().expect("the shim starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A descriptor without close-on-exec: what careless code in a host leaves open.
fn careless(file: &File) -> OwnedFd {
    let fd = fcntl(file, FcntlArg::F_DUPFD(200)).expect("a free descriptor");
    // SAFETY: just made, and owned by nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("ganger-shim-{}-{name}", std::process::id()))
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !condition() {
        assert!(std::time::Instant::now() < limit, "never came true: {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// True while the process runs; a zombie does not.
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
fn runs(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X') | None)
}

#[test]
fn passes_arguments_environment_output_and_exit_code() {
    let output = Command::new(SHIM)
        .args(["exec", "--", "sh", "-c", "echo \"$1|$2|$COLOUR\"; echo oops >&2; exit 7", "sh", "a b", ""])
        .env("COLOUR", "red")
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "a b||red\n");
    assert_eq!(text(&output.stderr), "oops\n");
    assert_eq!(output.status.code(), Some(7));
}

#[cfg(target_os = "linux")]
#[test]
fn closes_strays_and_keeps_what_was_named() {
    let path = scratch("descriptors");
    let file = File::create(&path).unwrap();
    let (kept, stray, also_kept) = (careless(&file), careless(&file), careless(&file));
    let keep = format!("{},{}", also_kept.as_raw_fd(), kept.as_raw_fd());
    let output = shim(&["--keep", &keep, "--", "sh", "-c", "ls -l /proc/$$/fd; :"]);
    std::fs::remove_file(&path).unwrap();
    let listing = text(&output.stdout);
    let open = |fd: RawFd| listing.contains(&format!(" {fd} -> {}", path.display()));
    assert!(open(kept.as_raw_fd()) && open(also_kept.as_raw_fd()), "{listing}");
    assert!(!open(stray.as_raw_fd()) && !open(file.as_raw_fd()), "{listing}");
    assert_eq!(listing.matches(path.to_str().unwrap()).count(), 2, "{listing}");
}

#[test]
fn names_a_kept_descriptor_that_is_not_open() {
    let output = shim(&["--keep", "987", "--", "true"]);
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("descriptor 987 is not open"), "{output:?}");
}

#[test]
fn changes_directory() {
    let output = shim(&["--directory", "/", "--", "pwd"]);
    assert_eq!(text(&output.stdout), "/\n");
}

#[test]
fn limits_are_set_and_never_raised() {
    let output = shim(&[
        "--limit",
        "core=0",
        "--limit",
        "nofile=64",
        "--",
        "sh",
        "-c",
        "ulimit -c; ulimit -n; ulimit -H -n",
    ]);
    assert_eq!(text(&output.stdout), "0\n64\n64\n");
    let nested = Command::new(SHIM)
        .args([
            "exec",
            "--limit",
            "nofile=64",
            "--",
            SHIM,
            "exec",
            "--limit",
            "nofile=128",
            "--",
            "sh",
            "-c",
            "ulimit -n",
        ])
        .output()
        .unwrap();
    assert_eq!(text(&nested.stdout), "64\n", "{nested:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_memory_limit_stops_a_program_that_takes_too_much() {
    let eat =
        "import sys; sys.stdout.write('up '); sys.stdout.flush(); b = bytearray(512 << 20); print('ate')";
    let output = shim(&["--limit", &format!("data={}", 256 << 20), "--", "python3", "-S", "-c", eat]);
    assert!(!output.status.success());
    assert_eq!(text(&output.stdout), "up ");
    assert!(text(&output.stderr).contains("MemoryError"), "{output:?}");
}

#[test]
fn a_missing_program_is_named_in_one_line() {
    let output = shim(&["--directory", "/", "--", "ganger-no-such-program", "x"]);
    assert_eq!(output.status.code(), Some(127));
    let line = text(&output.stderr);
    assert_eq!(line.lines().count(), 1, "{line}");
    for part in ["ganger-no-such-program", "\"/\"", "No such file or directory", "PATH"] {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}

#[test]
fn a_file_that_cannot_run_and_a_missing_directory_exit_126() {
    let output = shim(&["--", "/dev/null"]);
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("/dev/null"), "{output:?}");
    let output = shim(&["--directory", "/ganger/nowhere", "--", "true"]);
    assert_eq!(output.status.code(), Some(126));
    let line = text(&output.stderr);
    assert!(
        line.contains("\"true\"") && line.contains("\"/ganger/nowhere\"") && line.contains("directory"),
        "{line}"
    );
}

#[test]
fn a_script_without_its_interpreter_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let path = scratch("script");
    std::fs::write(&path, "#!/ganger/nowhere/python\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = shim(&["--", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("interpreter"), "{output:?}");
}

#[test]
fn bad_arguments_exit_64() {
    for arguments in [&["exec"][..], &["exec", "--colour", "red", "--", "true"], &["dance"], &[]] {
        let output = Command::new(SHIM).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("ganger-shim: "), "{output:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn signals_start_at_their_defaults() {
    // sh ignores them and hands that down; the shim undoes it.
    let script = format!("trap '' TERM PIPE USR1 CHLD; exec {SHIM} exec -- cat /proc/self/status");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let status = text(&output.stdout);
    for name in ["SigBlk:", "SigIgn:"] {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let signals = u64::from_str_radix(line.trim(), 16).unwrap();
        // Only the 31 classic signals: the C library keeps two others for itself.
        assert_eq!(signals & 0x7fff_ffff, 0, "{name} {signals:x}");
    }
}

#[test]
fn a_shim_that_lost_its_parent_exits_quietly() {
    let path = scratch("orphan");
    let output = shim(&["--parent", "1", "--", "touch", path.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
    assert!(!Path::new(&path).exists());
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
#[test]
fn a_busy_worker_dies_with_its_parent() {
    use std::io::{BufRead, BufReader};

    let script = format!("{SHIM} exec --parent $$ -- sh -c 'while :; do :; done' & echo $!; wait");
    let mut host =
        Command::new("sh").args(["-c", &script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let worker: i32 = line.trim().parse().unwrap();
    until("the worker runs its loop", || {
        std::fs::read_to_string(format!("/proc/{worker}/cmdline")).is_ok_and(|line| line.starts_with("sh"))
    });
    host.kill().unwrap();
    host.wait().unwrap();
    until("the worker is gone", || !runs(worker));
}
