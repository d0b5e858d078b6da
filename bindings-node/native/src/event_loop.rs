//! Has Node.js's own event loop watch a descriptor: what comes there is read on the JavaScript thread at once, and nobody else is woken.
//!
//! Node.js exports the functions of libuv to modules. Other runtimes may not, so they are looked up by name when the module runs; without
//! them, the pool's own thread reads as ever.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ganger::Cork;
use napi::sys;
use nix::libc;

/// What is run in the loop's turn; `again` if JavaScript has just been called in it.
pub(crate) type OnReadable = Box<dyn FnMut(bool) -> Turn>;

/// What is to follow a turn.
pub(crate) struct Turn {
    /// The loop goes on watching.
    pub(crate) go_on: bool,
    /// JavaScript is called.
    pub(crate) call: bool,
    /// What it hands over meanwhile goes out together.
    pub(crate) cork: Option<Cork>,
}

/// A descriptor that the loop may watch. It does not keep the loop alive.
pub(crate) struct Watch {
    handle: *mut c_void,
}

/// Lives as long as libuv has the handle.
struct Context {
    uv: &'static Uv,
    layout: Layout,
    env: sys::napi_env,
    callback: sys::napi_ref,
    on_readable: OnReadable,
    /// The watch was dropped, and `callback` with it.
    is_dropped: Cell<bool>,
}

struct Uv {
    handle_size: unsafe extern "C" fn(c_int) -> usize,
    poll_init: unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> c_int,
    poll_start: unsafe extern "C" fn(*mut c_void, c_int, OnPoll) -> c_int,
    poll_stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    close: unsafe extern "C" fn(*mut c_void, OnClosed),
    unref: unsafe extern "C" fn(*mut c_void),
}

type OnPoll = unsafe extern "C" fn(*mut c_void, c_int, c_int);
type OnClosed = unsafe extern "C" fn(*mut c_void);

/// `UV_POLL` and `UV_READABLE` of libuv 1.
const POLL_HANDLE: c_int = 8;
const READABLE: c_int = 1;
/// So often JavaScript is called in one turn, and not again once it has taken so long, before others have theirs: what it gave up is free only then.
const ROUNDS: u32 = 16;
const LONG: Duration = Duration::from_millis(4);

impl Watch {
    /// Of the loop that runs `env`. `callback` is a function of JavaScript. None where that cannot be.
    pub(crate) fn new(
        env: sys::napi_env,
        callback: sys::napi_value,
        descriptor: RawFd,
        on_readable: OnReadable,
    ) -> Option<Self> {
        let uv = uv()?;
        let event_loop = loop_of(env)?;
        let callback = kept(env, callback)?;
        let Some((handle, layout)) = polling(uv, event_loop, descriptor) else {
            // SAFETY: made above, on this thread, which is that of `env`.
            unsafe { sys::napi_delete_reference(env, callback) };
            return None;
        };
        let is_dropped = Cell::new(false);
        let context = Box::new(Context { uv, layout, env, callback, on_readable, is_dropped });
        // SAFETY: every handle of libuv begins with a pointer for its user.
        unsafe { handle.cast::<*mut Context>().write(Box::into_raw(context)) };
        // SAFETY: it has been initialised.
        unsafe { (uv.unref)(handle) };
        Some(Self { handle })
    }

    /// Has the loop watch from its next turn on.
    pub(crate) fn start(&self) {
        let uv = self.context().uv;
        // SAFETY: initialised in `new`, and closed only when this is dropped.
        unsafe { (uv.poll_start)(self.handle, READABLE, on_poll) };
    }

    fn context(&self) -> &Context {
        // SAFETY: written in `new` and freed in `on_closed`, which comes after this is dropped.
        unsafe { &**self.handle.cast::<*mut Context>() }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Context { uv, env, callback, is_dropped, .. } = self.context();
        is_dropped.set(true);
        // SAFETY: made in `new`, on this thread, which is that of `env`.
        unsafe { sys::napi_delete_reference(*env, *callback) };
        // SAFETY: closed once, here. libuv has it until `on_closed`.
        unsafe { (uv.close)(self.handle, on_closed) };
    }
}

/// The event loop that runs `env`.
fn loop_of(env: sys::napi_env) -> Option<*mut c_void> {
    let mut event_loop = ptr::null_mut();
    // SAFETY: called on the thread of `env`, with a place for the result.
    let status = unsafe { sys::napi_get_uv_event_loop(env, &raw mut event_loop) };
    (status == sys::Status::napi_ok).then(|| event_loop.cast())
}

/// A function of JavaScript, kept until its reference is deleted.
fn kept(env: sys::napi_env, callback: sys::napi_value) -> Option<sys::napi_ref> {
    let mut reference = ptr::null_mut();
    // SAFETY: called on the thread of `env`, and `callback` is a value of this scope.
    let status = unsafe { sys::napi_create_reference(env, callback, 1, &raw mut reference) };
    (status == sys::Status::napi_ok).then_some(reference)
}

/// A handle of libuv that may watch a descriptor, and how its memory was allocated.
fn polling(uv: &Uv, event_loop: *mut c_void, descriptor: RawFd) -> Option<(*mut c_void, Layout)> {
    // SAFETY: takes a number.
    let size = unsafe { (uv.handle_size)(POLL_HANDLE) };
    let layout = Layout::from_size_align(size, align_of::<u128>()).ok()?;
    // SAFETY: the handle of libuv is not of size zero.
    let handle: *mut c_void = unsafe { alloc_zeroed(layout) }.cast();
    if handle.is_null() {
        return None;
    }
    // SAFETY: the memory is as large as libuv said, and stays where it is until `on_closed`.
    if unsafe { (uv.poll_init)(event_loop, handle, descriptor) } != 0 {
        // SAFETY: allocated above with this layout; libuv did not take it.
        unsafe { dealloc(handle.cast(), layout) };
        return None;
    }
    Some((handle, layout))
}

unsafe extern "C" fn on_closed(handle: *mut c_void) {
    // SAFETY: written in `new`; libuv comes here once, after which nobody has the handle.
    let context = unsafe { Box::from_raw(*handle.cast::<*mut Context>()) };
    // SAFETY: allocated in `new` with this layout.
    unsafe { dealloc(handle.cast(), context.layout) };
}

unsafe extern "C" fn on_poll(handle: *mut c_void, _status: c_int, _events: c_int) {
    // SAFETY: written in `new`. JavaScript may drop the watch meanwhile, but what is closed lives on until the loop's next turn, and is
    // only used by one call of this at a time.
    let context = unsafe { &mut **handle.cast::<*mut Context>() };
    let began = Instant::now();
    for round in 0..ROUNDS {
        let turn = (context.on_readable)(round > 0);
        if !turn.go_on {
            // SAFETY: initialised in `new`, and open while it is watched.
            unsafe { (context.uv.poll_stop)(handle) };
        }
        if !turn.call {
            return;
        }
        // SAFETY: on the thread of `env`, between its turns.
        unsafe { call(context.env, context.callback) };
        drop(turn.cork);
        if !turn.go_on || context.is_dropped.get() || began.elapsed() > LONG {
            return;
        }
    }
}

/// Calls JavaScript from the loop, with all that has to follow a turn of it.
unsafe fn call(env: sys::napi_env, callback: sys::napi_ref) {
    let (mut scope, mut function, mut global) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller is on the thread of `env`; every result has a place, and the scope is closed again.
    unsafe {
        if sys::napi_open_handle_scope(env, &raw mut scope) != sys::Status::napi_ok {
            return;
        }
        sys::napi_get_reference_value(env, callback, &raw mut function);
        sys::napi_get_global(env, &raw mut global);
        let none = ptr::null_mut();
        let status = sys::napi_make_callback(env, none, global, function, 0, ptr::null(), ptr::null_mut());
        if status == sys::Status::napi_pending_exception {
            let mut thrown = ptr::null_mut();
            sys::napi_get_and_clear_last_exception(env, &raw mut thrown);
            sys::napi_fatal_exception(env, thrown);
        }
        sys::napi_close_handle_scope(env, scope);
    }
}

fn uv() -> Option<&'static Uv> {
    static UV: OnceLock<Option<Uv>> = OnceLock::new();
    UV.get_or_init(find_uv).as_ref()
}

fn find_uv() -> Option<Uv> {
    // SAFETY: libuv's functions have had these types since its first version.
    unsafe {
        Some(Uv {
            handle_size: find(c"uv_handle_size")?,
            poll_init: find(c"uv_poll_init")?,
            poll_start: find(c"uv_poll_start")?,
            poll_stop: find(c"uv_poll_stop")?,
            close: find(c"uv_close")?,
            unref: find(c"uv_unref")?,
        })
    }
}

/// A function of that name, if the process has one. `F` must be its type.
unsafe fn find<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function is a pointer") };
    // SAFETY: looks a name up among what the process has loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: of the same size, not null, and of that type, as the caller says.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}
