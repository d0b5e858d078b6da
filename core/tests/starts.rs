//! How workers come: noisy ones, broken ones that heal, ones that a person starts by hand.

mod support;

use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::json;
use support::{PATIENCE, call, deeds, events, integer, made, pids, pool, runs, until};

use ganger::Pool;
use ganger::events::{Event, ExitReason, LogSource};
use ganger::options::{PoolOptions, Surface};

#[test]
fn prints_disturb_nothing_and_arrive_as_events() {
    let pool = pool(json!({ "env": { "NOISY": "1" } }));
    let heard = events(&pool);
    assert_eq!(integer(call(&pool, "echo", json!(7))), 7);
    pool.close_blocking(Some(PATIENCE));
    assert!(pool.flush_events(PATIENCE));
    let heard = heard.lock().unwrap();
    let lines = |wanted: LogSource| -> Vec<&str> {
        let logs =
            heard.iter().filter_map(|event| if let Event::WorkerLog(log) = event { Some(log) } else { None });
        let lines = logs.filter(|log| log.source == wanted).map(|log| log.message.as_str());
        let mut lines: Vec<&str> = lines.collect();
        lines.sort_unstable();
        lines
    };
    let printed =
        ["printed at import", "printed by a grandchild", "printed by a thread", "written from below"];
    assert_eq!(lines(LogSource::Stdout), printed);
    assert_eq!(lines(LogSource::Stderr), ["complaint of a grandchild"]);
}

#[test]
fn a_syntax_error_fails_calls_with_its_traceback_and_heals_with_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("broken.py");
    std::fs::write(&file, "from ganger_worker import action\ndef oops(:\n").unwrap();
    let pool = made(&json!({ "python": file, "workers": 4 }));
    let heard = events(&pool);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let error = call(&pool, "double", json!(2)).unwrap_err();
        assert_eq!(error.code.to_string(), "START_FAILED");
        let traceback = error.report.unwrap().traceback.unwrap();
        assert!(traceback.contains("SyntaxError") && traceback.contains("def oops(:"), "{traceback}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(pool.flush_events(PATIENCE));
    let starts = heard.lock().unwrap().iter().filter(|event| matches!(event, Event::WorkerStart(_))).count();
    assert!((1..=10).contains(&starts), "{starts} starts in 5 s");
    std::fs::write(&file, "from ganger_worker import action\n@action\ndef double(x): return 2 * x\n")
        .unwrap();
    until("the pool has healed", || call(&pool, "double", json!(2)).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn every_start_that_fails_says_why_in_its_own_exit() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("broken.py");
    std::fs::write(&file, "from ganger_worker import action\ndef oops(:\n").unwrap();
    let gone = json!({ "command": ["/no/such/worker"], "workers": 4 });
    let slow = json!({ "command": ["sleep", "1000"], "workers": 4, "start_timeout": "300ms" });
    for (options, says) in [
        (json!({ "python": file, "workers": 4 }), ["SyntaxError", "line 2", "def oops(:"]),
        (gone, ["exited with code", "before it was ready", "/no/such/worker"]),
        (slow, ["worker", "not ready within the start timeout", "killed"]),
    ] {
        let pool = made(&options);
        let heard = events(&pool);
        let (sender, receiver) = channel();
        pool.warm(4, Box::new(move |verdict| sender.send(verdict.is_ok()).unwrap()));
        assert!(!receiver.recv_timeout(PATIENCE).unwrap());
        pool.terminate_blocking();
        assert!(pool.flush_events(PATIENCE));
        let heard = heard.lock().unwrap();
        let exits =
            heard.iter().filter_map(|event| if let Event::WorkerExit(it) = event { Some(it) } else { None });
        let failed: Vec<_> = exits.filter(|exit| exit.reason == ExitReason::StartFailed).collect();
        assert!(failed.len() >= 4, "{failed:?}");
        for exit in failed {
            let error = exit.error.as_deref().unwrap_or_default();
            assert!(says.iter().all(|words| error.contains(words)), "{exit:?}");
        }
    }
}

#[test]
fn a_program_that_is_not_there_is_a_failed_start() {
    let pool = made(&json!({ "command": ["/no/such/worker"], "workers": 1 }));
    let error = call(&pool, "echo", json!(1)).unwrap_err();
    assert_eq!(error.code.to_string(), "START_FAILED");
    assert!(error.worker.unwrap().stderr_tail.contains("/no/such/worker"));
    pool.terminate_blocking();
}

#[test]
fn a_worker_that_never_gets_ready_is_killed_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("slow.py");
    std::fs::write(&file, "import time\ntime.sleep(1000)\n").unwrap();
    let pool = made(&json!({ "python": file, "workers": 1, "start_timeout": "300ms" }));
    let error = call(&pool, "echo", json!(1)).unwrap_err();
    assert_eq!(error.code.to_string(), "START_FAILED");
    assert!(error.message.contains("not ready within the start timeout"), "{}", error.message);
    pool.terminate_blocking();
}

#[test]
fn a_worker_started_by_hand_attaches_and_passes_the_same_calls() {
    let pool = pool(json!({ "workers": 0, "endpoint": true }));
    let invitation = pool.invite().unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let attach = || {
        Command::new("python3")
            .arg(root.join("worker-sdk/python/ganger_worker_start.py"))
            .arg(deeds())
            .env("GANGER_ENDPOINT", &invitation.address)
            .env("GANGER_TOKEN", &invitation.token)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut worker = attach();
    let pid = integer(call(&pool, "pid", json!({})));
    until("the worker itself answers", || runs(u32::try_from(pid).unwrap()));
    assert_eq!(pids(&pool), [u32::try_from(pid).unwrap()]);

    let mut stranger = attach();
    stranger.wait().unwrap();
    assert_eq!(pool.stats().workers, 1, "the token is good for one worker");
    assert_eq!(integer(call(&pool, "pid", json!({}))), pid);

    let directory = invitation.address.parent().unwrap().to_path_buf();
    pool.close_blocking(Some(PATIENCE));
    drop(pool);
    assert!(worker.wait().is_ok());
    assert!(!directory.exists(), "the endpoint leaves nothing behind");
}

#[test]
fn an_endpoint_whose_host_was_killed_can_be_opened_again_and_one_in_use_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let address = folder.path().join("endpoint");
    // The standard library leaves the file, as a process that is killed does.
    drop(std::os::unix::net::UnixListener::bind(&address).unwrap());
    let options = json!({ "command": ["/bin/false"], "workers": 0, "endpoint": address });
    let first = made(&options);
    assert_eq!(first.invite().unwrap().address, address);
    let second = Pool::new(PoolOptions::parse(options.as_object().unwrap(), Surface::Rust).unwrap());
    assert!(second.unwrap_err().message.contains("cannot open the endpoint"));
    assert!(std::os::unix::net::UnixStream::connect(&address).is_ok(), "the first still listens");
    first.close_blocking(Some(PATIENCE));
    drop(first);
    assert!(!address.exists());
}

#[test]
fn sixty_four_waits_take_as_long_as_the_room_says() {
    for (workers, concurrency, rounds) in [(4, 1, 16.0), (4, 16, 1.0), (1, 64, 1.0)] {
        let pool = pool(json!({ "workers": workers, "concurrency": concurrency }));
        let warm: Vec<_> = (0..workers * concurrency)
            .map(|_| support::submit(&pool, "nap", json!(0.2), json!({})))
            .collect();
        warm.iter().for_each(|call| drop(support::outcome(call).unwrap()));
        let begun = Instant::now();
        let calls: Vec<_> = (0..64).map(|_| support::submit(&pool, "nap", json!(0.2), json!({}))).collect();
        calls.iter().for_each(|call| drop(support::outcome(call).unwrap()));
        let took = begun.elapsed().as_secs_f64();
        assert!(took >= 0.2 * rounds, "{workers} x {concurrency} had more room than it should: {took}");
        // None of these ends before all of them have begun: a busy machine makes that late, not impossible.
        let place = tempfile::NamedTempFile::new().unwrap();
        let meeting = json!({ "place": place.path(), "guests": workers * concurrency });
        let guests: Vec<_> = (0..workers * concurrency)
            .map(|_| support::submit(&pool, "meet", meeting.clone(), json!({})))
            .collect();
        guests.iter().for_each(|call| drop(support::outcome(call).unwrap()));
        pool.close_blocking(Some(PATIENCE));
    }
}
