//! A conversation with one worker: what is sent, what is waited for, and how it ends.

use std::collections::VecDeque;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ganger_protocol::message::{Call, Cancel, Credit, ErrorReport, Release, Stop};
use ganger_protocol::{Encoding, Frame, HEADER_LENGTH, Header, Kind, Lane, VIOLATION_EXIT_CODE, Value};

use super::breach::{Breach, Kept, ensure};
use super::describe::{cut, describe};
use super::ledger::Ledger;
use super::process::{Exit, Process};
use super::wire::Heard;
use crate::rules::Rule;

/// Both lanes of a worker that runs.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) process: Process,
    pub(super) ledger: Ledger,
    data: UnixStream,
    control: UnixStream,
    heard: Receiver<Heard>,
    /// Heard, and not asked for yet.
    waiting: VecDeque<(Lane, Frame)>,
    ended: Vec<Lane>,
    last_seq: u64,
    patience: Duration,
}

impl Link {
    pub(super) fn new(
        process: Process,
        ledger: Ledger,
        (data, control): (UnixStream, UnixStream),
        heard: Receiver<Heard>,
        patience: Duration,
    ) -> Self {
        let (waiting, ended) = (VecDeque::new(), Vec::new());
        Self { process, ledger, data, control, heard, waiting, ended, last_seq: 0, patience }
    }

    // ---- what the host says

    pub(super) fn next_seq(&mut self) -> u64 {
        self.last_seq += 1;
        self.last_seq
    }

    /// Sends a frame. One that cannot be delivered is found missed by what is waited for next.
    pub(super) fn send(&mut self, lane: Lane, frame: &Frame) {
        self.ledger.sent(frame);
        self.send_bytes(lane, &frame.to_bytes());
    }

    pub(super) fn send_bytes(&mut self, lane: Lane, bytes: &[u8]) {
        let stream = if lane == Lane::Data { &mut self.data } else { &mut self.control };
        let _ = stream.write_all(bytes);
    }

    pub(super) fn call_frame(&mut self, function: &str, input: &Value) -> Frame {
        let seq = self.next_seq();
        let call = Frame::new(Kind::Call, seq).with_body(Call::new(function).encode());
        call.with_payload(Encoding::MessagePack, input.encode())
    }

    pub(super) fn call(&mut self, function: &str, input: &Value) -> u64 {
        let frame = self.call_frame(function, input);
        self.send(Lane::Data, &frame);
        frame.seq
    }

    pub(super) fn cancel(&mut self, seq: u64) {
        self.send(Lane::Control, &Frame::new(Kind::Cancel, seq).with_body(Cancel::default().encode()));
    }

    pub(super) fn credit(&mut self, seq: u64, items: u32, bytes: u64) {
        self.send(Lane::Control, &Frame::new(Kind::Credit, seq).with_body(Credit { items, bytes }.encode()));
    }

    pub(super) fn stop(&mut self) {
        let stop = Stop { reason: "check".to_owned(), timeout_ms: 5_000 };
        self.send(Lane::Data, &Frame::new(Kind::Stop, 0).with_body(stop.encode()));
    }

    /// Says that the results it was lent are used up.
    pub(super) fn release(&mut self) -> Kept {
        let Some(arenas) = &mut self.ledger.arenas else { return Ok(()) };
        let offsets = arenas.give_back().map_err(|error| Breach::new(45, "memory", error.to_string()))?;
        self.send(Lane::Data, &Frame::new(Kind::Release, 0).with_body(Release { offsets }.encode()));
        Ok(())
    }

    /// The host is gone, as far as this lane tells.
    pub(super) fn close(&mut self, lane: Lane) {
        let stream = if lane == Lane::Data { &self.data } else { &self.control };
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.shutdown(Shutdown::Both);
    }

    // ---- what the worker says

    /// The first frame that is wanted; others wait for whoever wants them.
    pub(super) fn wait(
        &mut self,
        rule: Rule,
        expected: &str,
        wanted: impl Fn(Lane, &Frame) -> bool,
    ) -> Kept<Frame> {
        if let Some(place) = self.waiting.iter().position(|(lane, frame)| wanted(*lane, frame)) {
            return Ok(self.waiting.remove(place).expect("it was just found").1);
        }
        let until = Instant::now() + self.patience;
        while let Some((lane, frame)) = self.hear(until)? {
            if wanted(lane, &frame) {
                return Ok(frame);
            }
            self.waiting.push_back((lane, frame));
        }
        let came = self.what_came();
        Err(Breach::new(rule, expected, came))
    }

    /// RESULT or ERROR of a call.
    pub(super) fn answer(&mut self, rule: Rule, expected: &str, seq: u64) -> Kept<Frame> {
        self.wait(rule, expected, |_, frame| {
            frame.seq == seq && matches!(frame.kind, Kind::Result | Kind::Error)
        })
    }

    pub(super) fn result(&mut self, rule: Rule, seq: u64) -> Kept<Frame> {
        let frame = self.answer(rule, "RESULT", seq)?;
        ensure(frame.kind == Kind::Result, rule, "RESULT", || describe(&frame))?;
        Ok(frame)
    }

    pub(super) fn error(&mut self, rule: Rule, seq: u64, code: &str) -> Kept<ErrorReport> {
        let expected = format!("ERROR {code}");
        let frame = self.answer(rule, &expected, seq)?;
        let report = ErrorReport::decode(&frame.body).unwrap_or_default();
        ensure(frame.kind == Kind::Error && report.code == code, rule, &expected, || describe(&frame))?;
        Ok(report)
    }

    /// The worker proves that calls can run. If it has ended, `rule` is what it did not bear.
    pub(super) fn ping(&mut self, rule: Rule) -> Kept {
        let seq = self.next_seq();
        self.send(Lane::Data, &Frame::new(Kind::Ping, seq));
        let pong = |_: Lane, frame: &Frame| frame.kind == Kind::Pong && frame.seq == seq;
        let came = self.wait(34, "PONG", pong).map(drop);
        came.map_err(
            |breach| if breach.rule == 34 && self.has_ended() { Breach { rule, ..breach } } else { breach },
        )
    }

    /// Whether its process is gone.
    pub(super) fn has_ended(&mut self) -> bool {
        self.process.exit().is_some()
    }
    /// Hears for a while, and counts the frames that are wanted, those that wait included.
    pub(super) fn count(&mut self, span: Duration, wanted: impl Fn(&Frame) -> bool) -> Kept<usize> {
        let until = Instant::now() + span;
        while let Some(heard) = self.hear(until)? {
            self.waiting.push_back(heard);
        }
        Ok(self.waiting.iter().filter(|(_, frame)| wanted(frame)).count())
    }

    /// What came of a kind and was not asked for.
    pub(super) fn heard_of(&mut self, kind: Kind) -> Vec<Frame> {
        let of_kind = self.waiting.iter().filter(|(_, frame)| frame.kind == kind);
        of_kind.map(|(_, frame)| frame.clone()).collect()
    }

    // ---- how it ends

    /// Waits for the end; what it says until then counts.
    pub(super) fn exit(&mut self, rule: Rule, expected: &str) -> Kept<Exit> {
        let until = Instant::now() + self.patience;
        while let Some(heard) = self.hear(until)? {
            self.waiting.push_back(heard);
        }
        let left = until.saturating_duration_since(Instant::now());
        match self.process.wait(left) {
            Some(exit) => Ok(exit),
            None => Err(Breach::new(rule, expected, self.what_came())),
        }
    }

    pub(super) fn exits_with(&mut self, rule: Rule, code: i32) -> Kept {
        let expected = format!("the end with exit code {code}");
        let exit = self.exit(rule, &expected)?;
        ensure(exit == Exit::Code(code), rule, &expected, || self.ending(exit))
    }

    /// What ends a trial well: whatever was still under way would come now.
    pub(super) fn finish(mut self) -> Kept {
        self.stop();
        self.exits_with(35, 0)?;
        let printed = self.process.stdout() + &self.process.stderr();
        ensure(!has_frame(printed.as_bytes()), 2, "no frames among what it prints", || {
            format!("{:?}", cut(&printed))
        })
    }

    /// It has seen a violation (R40). One that goes on, or ends well, has not.
    pub(super) fn refuses(mut self, rule: Rule, what: &str) -> Kept {
        let expected = format!("the end with exit code 70 after {what}");
        let exit = self.exit(rule, &expected);
        let exit = exit.map_err(|breach| match breach.rule == rule {
            true => breach,
            false => Breach::new(rule, &expected, format!("something else: {breach}")),
        })?;
        let broken = if exit == Exit::Code(0) { rule } else { 40 };
        ensure(exit == Exit::Code(VIOLATION_EXIT_CODE), broken, &expected, || self.ending(exit))?;
        let said = self.process.stderr();
        let line = format!("a line on stderr about {what}");
        ensure(!said.trim().is_empty(), 40, &line, || "nothing".to_owned())
    }

    /// The next frame, unless both lanes end or the time is over.
    fn hear(&mut self, until: Instant) -> Kept<Option<(Lane, Frame)>> {
        while self.ended.len() < 2 {
            let left = until.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(Heard::Frame(lane, frame)) => {
                    if let Some(frame) = self.ledger.hear(lane, frame)? {
                        return Ok(Some((lane, frame)));
                    }
                }
                Ok(Heard::Wrong(breach)) => return Err(breach),
                Ok(Heard::End(lane)) => self.ended.push(lane),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn what_came(&mut self) -> String {
        if let Some(exit) = self.process.wait(if self.ended.is_empty() { Duration::ZERO } else { MOMENT }) {
            return self.ending(exit);
        }
        let unasked: Vec<_> = self.waiting.iter().map(|(_, frame)| describe(frame)).take(4).collect();
        let others = if unasked.is_empty() { String::new() } else { format!(" but {}", unasked.join(", ")) };
        format!("nothing{others} within {} s", self.patience.as_secs_f64())
    }

    fn ending(&mut self, exit: Exit) -> String {
        let how = match exit {
            Exit::Code(code) => format!("the end with exit code {code}"),
            Exit::Signal(signal) => format!("the end by {signal}"),
        };
        let said = self.process.stderr();
        let last = said.trim().lines().next_back().unwrap_or_default();
        if last.is_empty() { how } else { format!("{how}, stderr {:?}", cut(last)) }
    }
}

const MOMENT: Duration = Duration::from_secs(1);

/// Whether something that is printed looks like the header of a frame.
fn has_frame(printed: &[u8]) -> bool {
    printed.windows(HEADER_LENGTH).any(|bytes| {
        let header = Header::read(bytes.try_into().expect("windows are as long as asked for"));
        bytes[14..16] == [0, 0]
            && Kind::from_u8(header.kind).is_some()
            && u64::from(header.body_length) <= header.length
            && header.length < 1 << 24
            && header.seq < 1 << 24
    })
}
