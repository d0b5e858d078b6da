//! A pool of one worker for one command: started at once, listened to, and ended in any case.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use ganger::events::Event;
use ganger::options::PoolOptions;
use ganger::{Contract, Pool};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::interrupt::Interrupts;

/// The pool, and the thread's own runtime that waits for it and for Ctrl-C.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) pool: Pool,
    pub(crate) interrupts: Interrupts,
}

/// Makes a pool, does something with it, and ends it, patiently unless a second signal comes.
pub(crate) fn with_pool<T>(
    options: PoolOptions,
    quiet: bool,
    work: impl AsyncFnOnce(&mut Host) -> Result<T, Failure>,
) -> Result<T, Failure> {
    runtime()?.block_on(async {
        let pool = Pool::new(options).map_err(Box::new)?;
        if !quiet {
            pool.subscribe(Box::new(tell));
        }
        let mut host = Host { pool, interrupts: Interrupts::new()? };
        let done = work(&mut host).await;
        host.end().await;
        done
    })
}

impl Host {
    /// Starts the worker and says what it offers.
    pub(crate) async fn functions(&mut self) -> Result<Arc<[Contract]>, Failure> {
        let (sender, ready) = oneshot::channel();
        self.pool.warm(1, Box::new(move |outcome| drop(sender.send(outcome))));
        tokio::select! {
            outcome = ready => outcome.expect("a pool that lives tells")?,
            signal = self.interrupts.next() => return Err(Failure::Interrupted(signal)),
        }
        Ok(self.pool.functions().unwrap_or_default())
    }

    /// Lets the worker run its shutdown hooks; a signal ends it now.
    async fn end(mut self) {
        let (sender, closed) = oneshot::channel();
        self.pool.close(None, Box::new(move || sender.send(()).unwrap_or_default()));
        tokio::select! {
            _ = closed => {}
            _ = self.interrupts.next() => self.pool.terminate_blocking(),
        }
        self.pool.flush_events(LAST_WORDS);
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().build()
}

/// What the worker says, on stderr: results alone go to stdout.
fn tell(event: &Event) {
    let line = if let Event::WorkerLog(said) = event {
        match &said.level {
            Some(level) => format!("[{level}] {}", said.message),
            None => said.message.clone(),
        }
    } else if let Event::Warning(warning) = event {
        format!("warning: {}", warning.message)
    } else {
        return;
    };
    // Over the line that says how far the call is, where there may be one.
    let over = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    // A closed stderr is nobody's loss.
    let _ = writeln!(io::stderr().lock(), "{over}{line}");
}

/// How long a command waits for what its worker said last.
const LAST_WORDS: Duration = Duration::from_secs(1);
