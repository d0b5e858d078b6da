//! Calls that are handed to a real worker process ahead: it claims each when its turn comes.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "the other suites use the rest of the host")]

mod host;

use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use ganger_protocol::message::{Call, ErrorReport, Hello, Stop, Welcome, code};
use ganger_protocol::{Encoding, Flags, Frame, Kind, Value};
use host::{Host, example};
use nix::sys::eventfd::{EfdFlags, EventFd};
use serde_json::json;

/// A host with tokens.
struct Ahead {
    host: Host,
    tokens: EventFd,
}

impl Ahead {
    fn start() -> Self {
        let flags = EfdFlags::EFD_SEMAPHORE | EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let tokens = EventFd::from_value_and_flags(0, flags).unwrap();
        let mut host = Host::spawn_with(example(), &[], Some(tokens.as_fd()));
        assert!(Hello::decode(&host.control.expect(Kind::Hello).body).unwrap().ahead);
        let claims_fd = Some(tokens.as_raw_fd().cast_unsigned());
        host.welcome_with(Welcome { claims_fd, ..Welcome::default() });
        host.data.expect(Kind::Log);
        host.data.expect(Kind::Ready);
        Self { host, tokens }
    }

    /// Hands calls over ahead, all in one write.
    fn hand<const N: usize>(&mut self, calls: [(&str, Value); N]) -> [u64; N] {
        let frames = calls.map(|(function, input)| {
            let mut frame = self.host.call_frame(&Call::new(function), Encoding::MessagePack, input.encode());
            frame.flags = frame.flags.with(Flags::AHEAD);
            frame
        });
        self.tokens.write(N as u64).unwrap();
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
        std::io::Write::write_all(&mut self.host.data.stream, &bytes).unwrap();
        frames.map(|frame| frame.seq)
    }

    /// Takes the last call back that was handed over, if the worker has not claimed it.
    fn take_back(&self) -> bool {
        self.tokens.read().is_ok()
    }

    /// How many tokens there are, without taking one.
    fn left(&self) -> u64 {
        let path = format!("/proc/self/fdinfo/{}", self.tokens.as_raw_fd());
        let told = std::fs::read_to_string(path).unwrap();
        let count = told.lines().find_map(|line| line.strip_prefix("eventfd-count:")).unwrap();
        u64::from_str_radix(count.trim(), 16).unwrap()
    }

    /// Waits until the worker has claimed so many that this is left.
    fn until_left(&self, count: u64) {
        let begun = Instant::now();
        while self.left() != count {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} tokens are left", self.left());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_cancelled(&mut self, seq: u64) {
        assert_eq!(self.host.error(seq).code, code::CANCELLED);
    }
}

fn text(text: &str) -> Value {
    text.into()
}

#[test]
fn calls_handed_over_ahead_are_answered_in_order() {
    let mut ahead = Ahead::start();
    let mut hand = |function: &str, input: Value| {
        let calls = ahead.hand(std::array::from_fn::<_, 16, _>(|_| (function, input.clone())));
        for seq in calls {
            assert_eq!(ahead.host.data.receive().map(|frame| frame.seq), Some(seq));
        }
        assert_eq!(ahead.left(), 0);
    };
    // A thread reads and runs them; the runtime does, where the line grows meanwhile; both.
    hand("parse", text("7"));
    hand("sleep", 1.into());
    hand("parse", text("none"));
    hand("no_such_function", Value::Nil);
}

#[test]
fn functions_of_both_kinds_take_turns() {
    let mut ahead = Ahead::start();
    let calls = ahead.hand([
        ("sleep", 5.into()),
        ("parse", text("2")),
        ("sleep", 1.into()),
        ("nothing", Value::Nil),
        ("parse", text("5")),
    ]);
    for (seq, expected) in calls.into_iter().zip([Some(5), Some(2), Some(1), None, Some(5)]) {
        match expected {
            Some(number) => assert_eq!(ahead.host.result(seq), json!(number)),
            None => assert_eq!(ahead.host.error(seq).code, code::NO_SUCH_FUNCTION),
        }
    }
}

/// The first one sleeps on the runtime, so that the worker reads on; or keeps its one thread.
#[test]
fn a_call_that_was_taken_back_never_begins() {
    for (slow, input) in [("spin", Value::Nil), ("sleep", Value::from(600_000))] {
        let mut ahead = Ahead::start();
        let [first] = ahead.hand([(slow, input)]);
        ahead.until_left(0);
        let [second, taken] = ahead.hand([("parse", text("2")), ("panic", text("never"))]);
        assert_eq!(ahead.left(), 2);
        assert!(ahead.take_back());
        ahead.host.cancel(first);
        ahead.is_cancelled(first);
        assert_eq!(ahead.host.result(second), json!(2));
        // Nothing is before it, so it comes as calls usually do.
        let plain = ahead.host.call("parse", "4");
        assert_eq!(plain, taken + 1);
        assert_eq!(ahead.host.result(plain), json!(4));
        assert!(!ahead.take_back());
        let [last] = ahead.hand([("parse", text("5"))]);
        assert_eq!(ahead.host.result(last), json!(5));
    }
}

#[test]
fn a_cancel_is_remembered_until_the_call_is_claimed() {
    for (slow, input) in [("spin", Value::Nil), ("sleep", Value::from(600_000))] {
        let mut ahead = Ahead::start();
        let [first] = ahead.hand([(slow, input)]);
        ahead.until_left(0);
        let [second, third, taken] =
            ahead.hand([("panic", text("never")), ("parse", text("3")), ("panic", text("never"))]);
        ahead.host.cancel(second);
        ahead.host.cancel(taken);
        assert!(ahead.take_back());
        ahead.host.cancel(first);
        ahead.is_cancelled(first);
        ahead.is_cancelled(second);
        assert_eq!(ahead.host.result(third), json!(3));
        let ping = ahead.host.ping();
        assert_eq!(ahead.host.data.expect(Kind::Pong).seq, ping);
    }
}

#[test]
fn a_worker_stops_that_has_calls_which_nobody_wants() {
    for (slow, input) in [("spin", Value::Nil), ("sleep", Value::from(600_000))] {
        let mut ahead = Ahead::start();
        let [first] = ahead.hand([(slow, input)]);
        ahead.until_left(0);
        ahead.hand([("panic", text("never")), ("panic", text("never"))]);
        assert!(ahead.take_back() && ahead.take_back());
        ahead.host.data.send(&Frame::new(Kind::Stop, 0).with_body(Stop::default().encode()));
        ahead.host.cancel(first);
        ahead.is_cancelled(first);
        let rest = ahead.host.data.receive().map(|frame| (frame.kind, ErrorReport::decode(&frame.body)));
        assert_eq!(rest, None);
        assert_eq!(ahead.host.wait().0, Some(0));
    }
}

#[test]
fn children_do_not_have_the_claims() {
    let mut ahead = Ahead::start();
    let [seq] = ahead.hand([("inherited", Value::Nil)]);
    let open = ahead.host.result(seq);
    assert!(open.as_str().is_some_and(|open| !open.contains("eventfd")), "{open}");
}
