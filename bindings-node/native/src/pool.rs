//! A pool as JavaScript holds it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ganger::events::{EVENTS, Event, SubscriptionId};
use ganger::options::{CallOptions, CloseOptions, PoolOptions, Surface};
use ganger::shape::Shaped;
use ganger::{
    Call, CallId, Completion, Encoding, Error, Input, Outcome, Pool, SHARED_MEMORY_THRESHOLD, Shape, Waiter,
};
use napi::bindgen_prelude::{Array, ArrayBuffer, BufferSlice, Env, Function, Unknown};
use napi_derive::napi;
use serde_json::{Map, Value};

use crate::delivery::{Room, Settled};
use crate::fault::{thrown, wrong_options};
use crate::mailbox::Mailbox;
use crate::memory::Blocks;
use crate::turns::Turns;
use crate::{delivery, encoding, fault};

/// How long the end of a pool waits for its last events.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// When it is collected, or its environment ends, the pool is terminated.
#[napi]
pub struct NativePool {
    pub(crate) pool: Pool,
    pub(crate) mailbox: Arc<Mailbox>,
    /// One bit for each event that somebody listens to.
    wanted: Arc<AtomicU32>,
    subscription: OnceLock<SubscriptionId>,
    /// Outcomes that did not fit into the inbox.
    apart: Vec<Settled>,
    blocks: Blocks,
    turns: Turns,
}

type Awaited = (f64, Option<String>);
type NewsList<'env> = (Vec<String>, u32, Vec<Awaited>, Array<'env>);

#[napi]
impl NativePool {
    /// `wake` is called when `takeSettled` has something to give. Only the main thread's event loop may be watched: a worker thread's ends
    /// without letting go of what is watched there.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        options: String,
        wake: Function<'_, (), Unknown<'static>>,
        is_main_thread: bool,
    ) -> napi::Result<Self> {
        let options =
            PoolOptions::parse(&map(&options)?, Surface::Node).map_err(|error| wrong_options(error, None))?;
        let pool = Pool::new(options).map_err(|error| thrown(&error))?;
        let mailbox = Arc::new(Mailbox::new(&wake)?);
        let turns = Turns::new(env, &pool, is_main_thread.then_some(&wake))?;
        Ok(Self {
            pool,
            mailbox,
            wanted: Arc::default(),
            subscription: OnceLock::new(),
            apart: Vec::new(),
            blocks: Blocks::default(),
            turns,
        })
    }

    /// The pool's name.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> String {
        self.pool.options().name.clone()
    }

    /// Memory where workers look, for an input to be made in, and its number. Null: there is no room, or it is not worth it.
    #[napi(catch_unwind)]
    pub fn alloc<'env>(&self, env: &'env Env, bytes: f64) -> napi::Result<Option<(i32, ArrayBuffer<'env>)>> {
        let bytes = bytes as usize;
        let room = if bytes < SHARED_MEMORY_THRESHOLD { None } else { self.pool.reserve(bytes) };
        room.map(|room| self.blocks.lend(env, room)).transpose()
    }

    /// Makes a call with the first `length` bytes of `payload`, encoded as `form` says, or made in the buffer of that number, which
    /// must be detached at once. Its outcome appears in `takeSettled` under `ticket`. Returns the
    /// call's number in the pool, or 0 if it was refused at once.
    #[napi(catch_unwind)]
    pub fn submit(
        &self,
        ticket: f64,
        function: String,
        payload: BufferSlice<'_>,
        length: f64,
        form: i32,
        options: Option<String>,
    ) -> napi::Result<f64> {
        let bytes = payload.get(..length as usize).unwrap_or_default();
        let call = self.made(function, (bytes, form), options)?;
        let call = self.pool.submit(call, self.settles(ticket));
        self.turns.attend(&self.pool, &self.mailbox);
        Ok(call.map_or(0.0, |call| call.0 as f64))
    }

    /// Makes a call on every worker that is ready. All outcomes together appear in `takeNews` under `number`. Returns the calls' numbers, for
    /// `cancelAll`.
    #[napi(catch_unwind)]
    pub fn broadcast(
        &self,
        number: f64,
        function: String,
        payload: BufferSlice<'_>,
        length: f64,
        form: i32,
        options: Option<String>,
    ) -> napi::Result<Vec<f64>> {
        if self.pool.is_closed() {
            return Err(thrown(&Error { function: Some(function.into()), ..Error::pool_closed() }));
        }
        let bytes = payload.get(..length as usize).unwrap_or_default();
        let call = self.made(function, (bytes, form), options)?;
        let mailbox = Arc::clone(&self.mailbox);
        let done = move |outcomes: Vec<(u32, Outcome)>| {
            let of_workers =
                outcomes.into_iter().map(|(worker, outcome)| Settled { ticket: worker.into(), outcome });
            mailbox.gather(number, of_workers.collect());
        };
        let calls = self.pool.broadcast(&call, Box::new(done));
        Ok(calls.into_iter().map(|call| call.0 as f64).collect())
    }

    /// Gives a call up.
    #[napi(catch_unwind)]
    pub fn cancel(&self, call: f64) {
        self.pool.cancel(CallId(call as u64));
    }

    /// Gives several calls up at once.
    #[napi(catch_unwind)]
    pub fn cancel_all(&self, calls: Vec<f64>) {
        let calls: Vec<CallId> = calls.into_iter().map(|call| CallId(call as u64)).collect();
        self.pool.cancel_all(&calls);
    }

    /// Writes what is settled into `inbox`, as `delivery` describes. Returns 32 times the number of records, plus 1 if there are news,
    /// 2 if something lies apart, 4 if more is settled than there was room for, 8 if there is progress, 16 if there are bells.
    #[napi(catch_unwind)]
    pub fn take_settled(&mut self, mut inbox: BufferSlice<'_>) -> u32 {
        let (settled, left) = self.mailbox.take_settled(&mut Room::of(&inbox));
        let records = u32::try_from(settled.len()).expect("an inbox has few records");
        self.apart = delivery::write(&mut inbox, settled);
        let flags = [left.news, !self.apart.is_empty(), left.settled, left.progress, left.bells];
        32 * records + (0..).zip(flags).map(|(bit, flag)| u32::from(flag) << bit).sum::<u32>()
    }

    /// What the last `takeSettled` left apart: three elements for each call, its ticket, the encoding or -1, and the payload or the error as
    /// JSON.
    #[napi(catch_unwind)]
    pub fn take_apart<'env>(&mut self, env: &'env Env) -> napi::Result<Array<'env>> {
        delivery::apart(env, std::mem::take(&mut self.apart))
    }

    /// `[events, dropped, awaited, gathered]`: events as JSON lists of name and data; what was waited for as pairs of its number and null or the
    /// error as JSON; broadcasts as `delivery` describes.
    #[napi(catch_unwind)]
    pub fn take_news<'env>(&self, env: &'env Env) -> napi::Result<NewsList<'env>> {
        let news = self.mailbox.take_news();
        let events = news.events.iter().map(event_json).collect();
        let json = |error: Option<Box<Error>>| error.map(|error| fault::json(&error));
        let awaited = news.awaited.into_iter().map(|(number, error)| (number, json(error))).collect();
        Ok((events, news.dropped, awaited, delivery::gathered(env, news.gathered)?))
    }

    /// Says whether anybody listens to an event of this name.
    #[napi(catch_unwind)]
    pub fn listen(&self, name: String, wanted: bool) {
        let Some(bit) = event_bit(&name) else { return };
        if wanted {
            self.wanted.fetch_or(bit, Ordering::Relaxed);
            self.subscription.get_or_init(|| self.subscribe());
        } else {
            self.wanted.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// `Stats` as JSON.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> String {
        self.pool.stats().to_value(Surface::Node).to_string()
    }

    /// A list of `CallInfo` as JSON.
    #[napi(catch_unwind)]
    pub fn calls(&self) -> String {
        let calls = self.pool.calls();
        calls.iter().map(|call| call.to_value(Surface::Node)).collect::<Value>().to_string()
    }

    /// What the pool's scheduler was told lately, as text.
    #[napi(catch_unwind)]
    pub fn flight_record(&self) -> String {
        self.pool.flight_record()
    }

    /// A list of `FunctionInfo` as JSON; null before the first worker was ready.
    #[napi(catch_unwind)]
    pub fn functions(&self) -> Option<String> {
        let contracts = self.pool.functions()?;
        let functions = contracts.iter().map(|it| ganger::FunctionInfo::from(it).to_value(Surface::Node));
        Some(functions.collect::<Value>().to_string())
    }

    /// `[address, token]` for a worker that is started by hand.
    #[napi(catch_unwind)]
    pub fn invite(&self) -> Option<(String, String)> {
        let invitation = self.pool.invite()?;
        Some((invitation.address.display().to_string(), invitation.token))
    }

    /// Starts workers; `number` appears in `takeNews` when so many are ready or cannot be.
    #[napi(catch_unwind)]
    pub fn warm(&self, workers: u32, number: f64) {
        self.pool.warm(workers, self.waiter(number));
    }

    /// `number` appears in `takeNews` when a call would find room.
    #[napi(catch_unwind)]
    pub fn ready(&self, number: f64) {
        self.pool.ready(self.waiter(number));
    }

    /// `number` appears in `takeNews` when no call waits or runs.
    #[napi(catch_unwind)]
    pub fn drained(&self, number: f64) {
        self.pool.drained(self.waiter(number));
    }

    /// Replaces every worker.
    #[napi(catch_unwind)]
    pub fn reload(&self) {
        self.pool.reload();
    }

    /// Closes; `ending` appears in `takeNews` when the last worker is gone.
    #[napi(catch_unwind)]
    pub fn close(&self, options: String, ending: f64) -> napi::Result<()> {
        let options = CloseOptions::parse(&map(&options)?, Surface::Node)
            .map_err(|error| wrong_options(error, None))?;
        let of_pool = Some(self.pool.options().close_timeout);
        let timeout = options.timeout.map_or(of_pool, ganger::options::Limit::duration);
        self.pool.close(timeout, self.when_ended(ending));
        Ok(())
    }

    /// Terminates; `ending` appears in `takeNews` when the last worker is gone.
    #[napi(catch_unwind)]
    pub fn terminate(&self, ending: f64) {
        self.pool.terminate(self.when_ended(ending));
    }
}

impl NativePool {
    /// `form`: how the bytes are encoded, or the number of the buffer that they were made in.
    pub(crate) fn made(
        &self,
        function: String,
        (bytes, form): (&[u8], i32),
        options: Option<String>,
    ) -> napi::Result<Call> {
        let function: Arc<str> = function.into();
        let options = match options {
            Some(options) => CallOptions::parse(&map(&options)?, Surface::Node)
                .map_err(|error| wrong_options(error, Some(Arc::clone(&function))))?,
            None => CallOptions::default(),
        };
        Ok(Call { function, input: self.input(bytes, form), options, on_progress: None })
    }

    pub(crate) fn input(&self, bytes: &[u8], form: i32) -> Input {
        match encoding::from_number(form) {
            Some(encoding) => self.pool.copied(encoding, Shape::Value, bytes),
            None => match self.blocks.take(form) {
                Some(room) => Input::shared(Encoding::Raw, Shape::Value, room.freeze()).as_view(),
                None => self.pool.copied(Encoding::Raw, Shape::Value, bytes).as_view(),
            },
        }
    }

    pub(crate) fn settles(&self, ticket: f64) -> Completion {
        let mailbox = Arc::clone(&self.mailbox);
        Box::new(move |outcome| mailbox.settle(ticket, outcome))
    }

    fn waiter(&self, number: f64) -> Waiter {
        let mailbox = Arc::clone(&self.mailbox);
        Box::new(move |verdict| mailbox.is_so(number, verdict.err()))
    }

    fn subscribe(&self) -> SubscriptionId {
        let (mailbox, wanted) = (Arc::clone(&self.mailbox), Arc::clone(&self.wanted));
        self.pool.subscribe(Box::new(move |event| {
            if event_bit(event.name()).is_some_and(|bit| wanted.load(Ordering::Relaxed) & bit != 0) {
                mailbox.tell(event);
            }
        }))
    }

    /// Listeners hear of the last worker's exit before the end is announced. Waiting for that needs a thread: the end is told
    /// on the IO thread.
    fn when_ended(&self, ending: f64) -> Box<dyn FnOnce() + Send> {
        let mailbox = Arc::clone(&self.mailbox);
        let Some(&subscription) = self.subscription.get() else {
            return Box::new(move || mailbox.is_so(ending, None));
        };
        let pool = self.pool.clone();
        Box::new(move || {
            let (waiter, told_now) = (Arc::clone(&mailbox), mailbox);
            let wait = move || {
                pool.flush_events(LAST_EVENTS);
                pool.unsubscribe(subscription);
                waiter.is_so(ending, None);
            };
            if std::thread::Builder::new().name("ganger-end".to_owned()).spawn(wait).is_err() {
                told_now.is_so(ending, None);
            }
        })
    }
}

fn event_json(event: &Event) -> String {
    Value::from(vec![event.name().into(), event.to_value(Surface::Node)]).to_string()
}

fn event_bit(name: &str) -> Option<u32> {
    EVENTS.iter().position(|row| row.name == name).map(|index| 1 << index)
}

/// Options arrive as a JSON object; the TypeScript side made it.
fn map(json: &str) -> napi::Result<Map<String, Value>> {
    serde_json::from_str(json)
        .map_err(|error| napi::Error::from_reason(format!("not a map of options: {error}")))
}
