//! The event loop's part in reading: while an app makes calls, their answers are read in its turns, with no other thread in between.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use ganger::{LoopSeat, Pool};
use napi::bindgen_prelude::{Env, Function, FunctionRef, JsValue, Unknown};

use crate::event_loop::{OnReadable, Turn, Watch};
use crate::mailbox::Mailbox;

pub(crate) struct Turns {
    env: Env,
    seat: LoopSeat,
    /// Made with the first call for which there is something to watch.
    watch: OnceCell<Option<Watch>>,
    watching: Rc<Cell<bool>>,
    /// What JavaScript is called by; none where the loop must not be watched.
    wake: Option<FunctionRef<(), Unknown<'static>>>,
}

impl Turns {
    pub(crate) fn new(
        env: Env,
        pool: &Pool,
        wake: Option<&Function<'_, (), Unknown<'static>>>,
    ) -> napi::Result<Self> {
        let wake = wake.map(Function::create_ref).transpose()?;
        Ok(Self { env, seat: pool.loop_seat(), watch: OnceCell::new(), watching: Rc::default(), wake })
    }

    /// A call was made: the loop reads from now on, unless another thread does.
    pub(crate) fn attend(&self, pool: &Pool, mailbox: &Arc<Mailbox>) {
        let (Some(wake), Some(descriptor)) = (&self.wake, self.seat.descriptor()) else { return };
        let watch = match self.watch.get() {
            Some(watch) => watch,
            None => {
                let on_readable = self.on_readable(pool.loop_seat(), Arc::clone(mailbox));
                let made = wake
                    .borrow_back(&self.env)
                    .ok()
                    .and_then(|callback| Watch::new(self.env.raw(), callback.raw(), descriptor, on_readable));
                self.watch.get_or_init(|| made)
            }
        };
        if let Some(watch) = watch
            && self.seat.attend()
            && !self.watching.replace(true)
        {
            watch.start();
        }
    }

    fn on_readable(&self, seat: LoopSeat, mailbox: Arc<Mailbox>) -> OnReadable {
        let watching = Rc::clone(&self.watching);
        Box::new(move |again| {
            mailbox.hold();
            let go_on = if again { seat.read_soon() } else { seat.read() };
            watching.set(go_on);
            let (call, answers) = mailbox.unhold();
            // With one answer there is nothing to be joined.
            let cork = (go_on && answers > 1).then(|| seat.cork());
            Turn { go_on, call, cork }
        })
    }
}
