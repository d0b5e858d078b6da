//! Knows which process this is: a forked child has the host's memory but none of its threads.
//!
//! Whatever lives once a process (runtime, spawner, reaper) sits in a [`PerProcess`]; whatever belongs to one process
//! carries a [`ProcessTag`]. A fork waits at the [`ForkGate`] while a descriptor is between the system and the
//! table in `descriptors`, so that a child's handler finds every one of them.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::libc;

use super::descriptors;

/// The process that something was made in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ProcessTag(u32);

impl ProcessTag {
    /// This process.
    pub(crate) fn here() -> ProcessTag {
        ProcessTag(pid())
    }

    /// False in a forked child for a tag from its parent. One atomic load.
    pub(crate) fn is_here(self) -> bool {
        self.0 == pid()
    }
}

/// True if this process is a forked copy of one that had used Ganger before the fork.
#[cfg(test)]
pub(crate) fn is_forked_child() -> bool {
    let here = pid();
    ORIGIN.load(Ordering::Acquire) != here
}

/// This process's id, without a system call but for the first time.
pub(crate) fn pid() -> u32 {
    match HERE.load(Ordering::Acquire) {
        0 => remember(),
        pid => pid,
    }
}

/// One value a process. A forked child never touches its parent's: it makes its own, and the copy of the parent's
/// stays in memory unused, for its threads do not exist and its locks may be held for ever.
pub(crate) struct PerProcess<T: 'static> {
    slot: AtomicPtr<Slot<T>>,
}

struct Slot<T> {
    tag: ProcessTag,
    making: Mutex<()>,
    value: OnceLock<T>,
}

impl<T: Send + Sync> PerProcess<T> {
    /// Nothing yet, in any process.
    pub(crate) const fn new() -> Self {
        PerProcess { slot: AtomicPtr::new(ptr::null_mut()) }
    }

    /// This process's value; the first caller makes it, others wait for that. A failure is tried again next time.
    pub(crate) fn get_or_try_init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&'static T, E> {
        let slot = self.slot_here();
        if let Some(value) = slot.value.get() {
            return Ok(value);
        }
        let _making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.value.get() {
            Some(value) => Ok(value),
            None => {
                let made = make()?;
                Ok(slot.value.get_or_init(|| made))
            }
        }
    }

    fn slot_here(&self) -> &'static Slot<T> {
        let here = ProcessTag::here();
        loop {
            let found = self.slot.load(Ordering::Acquire);
            // SAFETY: a non-null pointer came from Box::into_raw below and is never freed.
            if let Some(slot) = unsafe { found.as_ref() }
                && slot.tag == here
            {
                return slot;
            }
            let fresh = Slot { tag: here, making: Mutex::new(()), value: OnceLock::new() };
            let fresh = Box::into_raw(Box::new(fresh));
            let set = self.slot.compare_exchange(found, fresh, Ordering::AcqRel, Ordering::Acquire);
            if set.is_err() {
                // SAFETY: just made, and nobody has seen it: another thread's slot won.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

/// Held while descriptors are opened and registered, or unregistered and closed: no fork happens meanwhile.
/// Hold it for a few system calls only, and fork nothing while holding it. A thread may shut it again inside.
#[must_use]
pub(crate) struct ForkGate(PhantomData<*const ()>);

impl ForkGate {
    /// Waits for forks under way and other holders, then shuts the gate.
    pub(crate) fn shut() -> ForkGate {
        pid(); // Installs the handlers that heed the gate.
        if DEPTH.replace(DEPTH.get() + 1) == 0 {
            lock_gate();
        }
        ForkGate(PhantomData)
    }
}

impl Drop for ForkGate {
    fn drop(&mut self) {
        if DEPTH.replace(DEPTH.get() - 1) == 1 {
            unlock_gate();
        }
    }
}

fn remember() -> u32 {
    if !INSTALLED.swap(true, Ordering::AcqRel) {
        install_handlers().expect("three pointers fit in memory");
    }
    let pid = std::process::id();
    HERE.store(pid, Ordering::Release);
    let _ = ORIGIN.compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire);
    pid
}

fn install_handlers() -> io::Result<()> {
    // SAFETY: the handlers only use atomics and close(2), which a forked child of a threaded process may call.
    match unsafe { libc::pthread_atfork(Some(before_fork), Some(after_in_parent), Some(after_in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

unsafe extern "C" fn before_fork() {
    lock_gate();
}

unsafe extern "C" fn after_in_parent() {
    unlock_gate();
}

unsafe extern "C" fn after_in_child() {
    HERE.store(0, Ordering::Release);
    descriptors::close_all_in_child();
    unlock_gate();
}

/// A spin lock, because a fork's handlers lock and unlock it in different processes. It is held for microseconds.
fn lock_gate() {
    while GATE.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::thread::yield_now();
    }
}

fn unlock_gate() {
    GATE.store(false, Ordering::Release);
}

/// 0 until asked for, and again after a fork.
static HERE: AtomicU32 = AtomicU32::new(0);
/// The first process that asked; inherited by its forked children.
static ORIGIN: AtomicU32 = AtomicU32::new(0);
static INSTALLED: AtomicBool = AtomicBool::new(false);
static GATE: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How often this thread holds the gate: dropping a descriptor while opening others must not wait for itself.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}
