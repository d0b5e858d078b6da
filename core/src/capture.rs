//! Reads what a worker prints, for as long as anything may print there. The worker never waits for a reader, and memory
//! is bounded whatever it prints.

mod lines;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::unistd::read;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::process::Registered;
pub(crate) use lines::Line;
use lines::{LineSplitter, Tail};

/// The reading of one stream. Dropped, it reads on without anyone to wait for it, until the stream ends.
#[derive(Debug)]
pub(crate) struct Capture {
    tail: Arc<Mutex<Tail>>,
    enough: oneshot::Sender<()>,
    reading: JoinHandle<()>,
}

impl Capture {
    /// Begins to read; must be called within a runtime. `on_line` gets each line on the runtime's thread and must not wait.
    pub(crate) fn start(
        pipe: Registered<OwnedFd>,
        on_line: impl FnMut(Line) + Send + 'static,
    ) -> io::Result<Capture> {
        let pipe = pipe.watch(Interest::READABLE)?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (enough, stop) = oneshot::channel();
        let reading = tokio::spawn(read_all(pipe, Arc::clone(&tail), stop, on_line));
        Ok(Capture { tail, enough, reading })
    }

    /// The last 8 KiB so far, from the first whole line on.
    #[cfg(test)]
    pub(crate) fn tail(&self) -> String {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// After the worker's exit: waits until everything that it printed was read, but no longer than `limit`, for a process that
    /// escaped its group may hold the stream open for ever. Every line has been passed on when this returns the tail.
    pub(crate) async fn drain(mut self, limit: Duration) -> String {
        if tokio::time::timeout(limit, &mut self.reading).await.is_err() {
            // It may have ended this moment; then there is nobody to stop.
            let _ = self.enough.send(());
            let _ = self.reading.await;
        }
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

async fn read_all(
    pipe: AsyncFd<Registered<OwnedFd>>,
    tail: Arc<Mutex<Tail>>,
    stop: oneshot::Receiver<()>,
    on_line: impl FnMut(Line),
) {
    let mut sink = Sink { splitter: LineSplitter::default(), tail, on_line };
    let mut stop = Stop(Some(stop));
    loop {
        let more = tokio::select! {
            biased;
            () = stop.told() => false,
            more = read_some(&pipe, &mut sink) => more,
        };
        if !more {
            break;
        }
        // A worker that prints without end must not keep the runtime from everybody else.
        tokio::task::yield_now().await;
    }
    sink.splitter.finish(&mut sink.on_line);
}

struct Sink<F> {
    splitter: LineSplitter,
    tail: Arc<Mutex<Tail>>,
    on_line: F,
}

impl<F: FnMut(Line)> Sink<F> {
    fn take(&mut self, bytes: &[u8]) {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).feed(bytes);
        self.splitter.feed(bytes, &mut self.on_line);
    }
}

/// Waits for bytes and reads once. False at the end.
async fn read_some<F: FnMut(Line)>(pipe: &AsyncFd<Registered<OwnedFd>>, sink: &mut Sink<F>) -> bool {
    let Ok(mut ready) = pipe.readable().await else { return false };
    match ready.try_io(|pipe| read_into(pipe.get_ref(), sink)) {
        Ok(Ok(count)) => count > 0,
        Ok(Err(error)) => error.kind() == io::ErrorKind::Interrupted,
        Err(_would_block) => true,
    }
}

/// The buffer lives on the stack and only here, so that an idle stream costs none.
fn read_into<F: FnMut(Line)>(pipe: &Registered<OwnedFd>, sink: &mut Sink<F>) -> io::Result<usize> {
    let mut bytes = [0; READ_BYTES];
    let count = read(pipe, &mut bytes)?;
    sink.take(&bytes[..count]);
    Ok(count)
}

/// Told once to stop; a capture that was dropped tells nothing, and reading goes on.
struct Stop(Option<oneshot::Receiver<()>>);

impl Stop {
    async fn told(&mut self) {
        if let Some(stop) = &mut self.0 {
            if stop.await.is_ok() {
                return;
            }
            self.0 = None;
        }
        std::future::pending().await
    }
}

/// What a pipe holds.
const READ_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::lines::LONGEST_LINE_BYTES;
    use super::*;
    use crate::process::tests::{shell, started};

    /// Runs a script to its end; what it printed on stderr, and the tail.
    async fn printed(script: &str) -> (Vec<Line>, String, Option<i32>) {
        let child = started(shell(script)).unwrap();
        let (lines, capture) = captured(child.stderr);
        let _stdout = captured(child.stdout);
        let exit = child.process.wait_exit().await;
        let tail = capture.drain(Duration::from_secs(20)).await;
        let lines = std::mem::take(&mut *lines.lock().unwrap());
        (lines, tail, exit.code)
    }

    fn captured(pipe: Registered<OwnedFd>) -> (Arc<Mutex<Vec<Line>>>, Capture) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&lines);
        let capture = Capture::start(pipe, move |line| all.lock().unwrap().push(line)).unwrap();
        (lines, capture)
    }

    #[tokio::test]
    async fn every_line_before_a_crash_is_there() {
        let script =
            "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i >&2; done; printf 'the end' >&2; exit 1";
        let (lines, tail, code) = printed(script).await;
        assert_eq!(code, Some(1));
        let expected = (1..=300).map(|number| format!("line {number}")).chain(["the end".to_owned()]);
        assert!(lines.iter().map(|line| line.text.clone()).eq(expected), "{lines:?}");
        assert!(tail.starts_with("line 1\n") && tail.ends_with("line 300\nthe end"), "{tail}");
    }

    #[tokio::test]
    async fn ten_megabytes_without_a_line_end_block_nobody_and_take_no_memory() {
        let (lines, tail, code) = printed("head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 3").await;
        assert_eq!((code, lines.len()), (Some(3), 1));
        assert_eq!(lines[0].text, "x".repeat(LONGEST_LINE_BYTES));
        assert_eq!(lines[0].cut_bytes, 10_000_000 - LONGEST_LINE_BYTES as u64);
        assert_eq!(tail.len(), 8192);
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_do_not_end_the_reading() {
        let (lines, tail, _) = printed("printf 'a\\377b\\nafter\\n' >&2").await;
        let texts: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a\u{fffd}b", "after"]);
        assert_eq!(tail, "a\u{fffd}b\nafter\n");
    }

    #[tokio::test]
    async fn a_process_that_escaped_with_the_stream_does_not_hold_up_the_drain() {
        let child =
            started(shell("setsid sh -c 'echo $$ >&3; exec sleep 1000' & read x <&4; printf half >&2"))
                .unwrap();
        let escaped = crate::process::tests::pid_from(&child.data);
        let (lines, capture) = captured(child.stderr);
        drop(child.control);
        child.process.wait_exit().await;
        assert_eq!(capture.drain(Duration::from_millis(100)).await, "half");
        assert_eq!(*lines.lock().unwrap(), [Line { text: "half".into(), cut_bytes: 0 }]);
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(escaped.cast_signed()),
            nix::sys::signal::Signal::SIGKILL,
        )
        .unwrap();
    }

    #[tokio::test]
    async fn the_tail_is_there_while_the_worker_runs_and_a_dropped_capture_reads_on() {
        let child =
            started(shell("echo early >&2; read x <&4; head -c 1000000 /dev/zero >&2; exit 5")).unwrap();
        let (_, capture) = captured(child.stderr);
        while capture.tail() != "early\n" {
            tokio::task::yield_now().await;
        }
        drop(capture);
        drop(child.control);
        assert_eq!(child.process.wait_exit().await.code, Some(5));
    }
}
