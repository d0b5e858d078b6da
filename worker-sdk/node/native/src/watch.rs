//! The control lane while JavaScript computes: a thread reads it, and ends the process when the host is gone (R1, R27). What it read
//! lies here until JavaScript takes it, and a number that JavaScript sees without a call says whether there is any. Frames are not
//! its matter.

use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Status;
use napi::bindgen_prelude::{Function, Int32Array, Unknown};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, read};

/// Weak: it does not keep the event loop alive.
type Wake = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

pub(crate) struct Watch {
    came: Mutex<Vec<u8>>,
    arrivals: Arrivals,
    wake: Wake,
}

/// How often something came, in memory that JavaScript shares.
struct Arrivals(Int32Array);

impl Watch {
    /// Starts the thread. `wake` is called on JavaScript's when something has come and nothing lay here.
    pub(crate) fn start(
        lane: RawFd,
        arrivals: Int32Array,
        wake: &Function<'_, (), Unknown<'static>>,
    ) -> napi::Result<Arc<Self>> {
        if lane < 0 || arrivals.is_empty() {
            return Err(napi::Error::from_reason("a lane and a number to count in are wanted"));
        }
        // SAFETY: it is no -1, and the host passed it on for as long as this process lives.
        let lane = unsafe { BorrowedFd::borrow_raw(lane) };
        let wake = wake.build_threadsafe_function::<()>().weak::<true>().build()?;
        let watch = Arc::new(Self { came: Mutex::default(), arrivals: Arrivals(arrivals), wake });
        let thread = Arc::clone(&watch);
        std::thread::Builder::new()
            .name("ganger-control".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || thread.read(lane))
            .map_err(|error| napi::Error::from_reason(format!("no thread for the control lane: {error}")))?;
        Ok(watch)
    }

    /// What came since the last time.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.came())
    }

    fn read(&self, lane: BorrowedFd<'_>) {
        let mut bytes = [0; 4096];
        loop {
            match read(lane.as_fd(), &mut bytes) {
                Ok(0) => end_process(),
                Ok(count) => self.put(&bytes[..count]),
                // The host may have made our end non-blocking.
                Err(Errno::EAGAIN) => {
                    let _ = poll(&mut [PollFd::new(lane, PollFlags::POLLIN)], PollTimeout::NONE);
                }
                Err(Errno::EINTR) => {}
                Err(_) => end_process(),
            }
        }
    }

    fn put(&self, bytes: &[u8]) {
        let was_empty = {
            let mut came = self.came();
            let was_empty = came.is_empty();
            came.extend_from_slice(bytes);
            was_empty
        };
        self.arrivals.count();
        if was_empty {
            // It fails once the environment ends: then nobody is left to be told.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    fn came(&self) -> MutexGuard<'_, Vec<u8>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrivals {
    fn count(&self) {
        // SAFETY: the array holds its memory, has an element, and is only ever used with atomic operations, on both sides.
        unsafe { AtomicI32::from_ptr(self.0.as_ptr().cast_mut()) }.fetch_add(1, Ordering::Release);
    }
}

/// A signal ends the process whatever its main thread is doing, and flushes nothing.
fn end_process() {
    let _ = kill(Pid::this(), Signal::SIGKILL);
}

/// It holds little more than what is read at once.
const STACK_SIZE: usize = 64 * 1024;
