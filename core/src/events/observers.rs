//! Hands events to whoever subscribed, on a thread of its own: an observer may be slow, may call back into the pool and may panic, and
//! neither the pool nor the other observers notice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Event;

/// What an observer is.
pub type Observer = Box<dyn Fn(&Event) + Send + Sync>;

/// Names a subscription, to end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubscriptionId(u64);

/// The observers of a pool. Events reach each of them in the order emitted.
pub struct Observers {
    list: Arc<List>,
    /// The thread that observers run on; none as long as there are no observers.
    thread: Mutex<Option<Sender<Event>>>,
    accepted: AtomicU64,
    dropped: AtomicU64,
    capacity: usize,
}

impl Observers {
    /// No observers, and no thread until there is one.
    pub fn new() -> Observers {
        Observers::with_capacity(CAPACITY)
    }

    fn with_capacity(capacity: usize) -> Observers {
        Observers {
            list: Arc::default(),
            thread: Mutex::new(None),
            accepted: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            capacity,
        }
    }

    /// Calls `observer` with every event from now on.
    pub fn subscribe(&self, observer: Observer) -> SubscriptionId {
        let id = SubscriptionId(self.list.next_id.fetch_add(1, Ordering::Relaxed));
        let entry = Arc::new(Entry { id, observer, panicked: AtomicBool::new(false) });
        let mut thread = self.thread();
        self.list.lock().push(entry);
        thread.get_or_insert_with(|| start(self.list.clone()));
        id
    }

    /// Ends a subscription, and says whether there was one. A call of the observer that has begun may still be running. The thread
    /// ends with the last subscription.
    pub fn unsubscribe(&self, id: SubscriptionId) -> bool {
        let ended = {
            let mut thread = self.thread();
            let mut entries = self.list.lock();
            let place = entries.iter().position(|entry| entry.id == id);
            let ended = place.map(|place| entries.remove(place));
            if entries.is_empty() {
                *thread = None;
            }
            ended
        };
        // Dropped without the locks: it may hold anything, a pool for example.
        ended.is_some()
    }

    /// Hands an event over; never waits. It is dropped and counted if observers are too far behind.
    pub fn emit(&self, event: impl Into<Event>) {
        let thread = self.thread();
        let Some(queue) = thread.as_ref() else { return };
        // Counted by hand: a channel with a bound takes the memory for all of it at once, 2 MB a pool.
        if self.list.waiting.fetch_add(1, Ordering::SeqCst) < self.capacity
            && queue.send(event.into()).is_ok()
        {
            self.accepted.fetch_add(1, Ordering::SeqCst);
        } else {
            self.list.waiting.fetch_sub(1, Ordering::SeqCst);
            self.count_dropped();
        }
    }

    /// Events that were dropped because observers were too far behind.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until what was emitted before has been observed, and says whether it was within `limit`. Not to be called by an observer.
    pub fn flush(&self, limit: Duration) -> bool {
        let accepted = self.accepted.load(Ordering::SeqCst);
        let observed = self.list.observed.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.list.more_observed.wait_timeout_while(observed, limit, |observed| *observed < accepted);
        *waited.unwrap_or_else(PoisonError::into_inner).0 >= accepted
    }

    /// Held for moments only, and never while an observer runs.
    fn thread(&self) -> MutexGuard<'_, Option<Sender<Event>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_dropped(&self) {
        if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                capacity = self.capacity,
                "observers are too far behind; events are being dropped"
            );
        }
    }
}

impl Default for Observers {
    fn default() -> Observers {
        Observers::new()
    }
}

impl std::fmt::Debug for Observers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observers").field("subscribed", &self.list.lock().len()).finish_non_exhaustive()
    }
}

struct Entry {
    id: SubscriptionId,
    observer: Observer,
    panicked: AtomicBool,
}

#[derive(Default)]
struct List {
    entries: Mutex<Vec<Arc<Entry>>>,
    next_id: AtomicU64,
    waiting: AtomicUsize,
    observed: Mutex<u64>,
    more_observed: Condvar,
}

impl List {
    /// No observer runs under the lock, so it cannot be poisoned by one.
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread ends with the last sender, after it has handed out what was queued. Nobody joins it: the pool may be dropped by an observer.
fn start(list: Arc<List>) -> Sender<Event> {
    let (queue, events) = channel();
    let thread = std::thread::Builder::new().name("ganger-events".to_owned());
    if let Err(error) = thread.spawn(move || run(&events, &list)) {
        tracing::warn!(%error, "no thread for events; there will be none");
    }
    queue
}

fn run(events: &Receiver<Event>, list: &List) {
    while let Ok(event) = events.recv() {
        list.waiting.fetch_sub(1, Ordering::SeqCst);
        // A copy of the list, so that an observer may subscribe and unsubscribe.
        let entries = list.lock().clone();
        entries.iter().for_each(|entry| observe(entry, &event));
        *list.observed.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        list.more_observed.notify_all();
    }
}

fn observe(entry: &Entry, event: &Event) {
    let outcome = catch_unwind(AssertUnwindSafe(|| (entry.observer)(event)));
    if outcome.is_err() && !entry.panicked.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            event = event.name(),
            "an observer panicked; it stays subscribed, and this is not reported again"
        );
    }
}

const CAPACITY: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{QueueDrain, QueueFull};

    const LIMIT: Duration = Duration::from_secs(30);

    fn full(queued: u64) -> QueueFull {
        QueueFull { pool: "p".into(), queued, queued_bytes: 0 }
    }

    fn forward(to: Sender<Event>) -> Observer {
        let to = Mutex::new(to);
        Box::new(move |event| drop(to.lock().unwrap().send(event.clone())))
    }

    #[test]
    fn events_arrive_in_order_on_another_thread() {
        let observers = Observers::new();
        let (to, seen) = channel();
        let own = std::thread::current().id();
        observers.subscribe(Box::new(move |_| assert_ne!(std::thread::current().id(), own)));
        observers.subscribe(forward(to));
        for queued in 0..100 {
            observers.emit(full(queued));
        }
        assert!(observers.flush(LIMIT));
        let seen: Vec<Event> = seen.try_iter().collect();
        assert_eq!(seen, (0..100).map(|queued| full(queued).into()).collect::<Vec<Event>>());
        assert_eq!(observers.dropped(), 0);
    }

    #[test]
    fn without_observers_nothing_is_queued() {
        let observers = Observers::new();
        observers.emit(full(1));
        assert!(observers.flush(Duration::ZERO));
        let (to, seen) = channel();
        observers.subscribe(forward(to));
        observers.emit(QueueDrain { pool: "p".into() });
        assert!(observers.flush(LIMIT));
        assert_eq!(seen.try_iter().map(|event| event.name()).collect::<Vec<_>>(), ["queue:drain"]);
    }

    #[test]
    fn an_ended_subscription_hears_no_more() {
        let observers = Observers::new();
        let (to, seen) = channel();
        let id = observers.subscribe(forward(to));
        assert!(observers.unsubscribe(id));
        assert!(!observers.unsubscribe(id));
        observers.emit(full(1));
        assert!(observers.flush(LIMIT));
        assert_eq!(seen.try_iter().count(), 0);
    }

    #[test]
    fn a_panicking_observer_disturbs_nobody() {
        let observers = Observers::new();
        let (to, seen) = channel();
        observers.subscribe(Box::new(|_| panic!("an observer that panics, on purpose")));
        observers.subscribe(forward(to));
        observers.emit(full(1));
        observers.emit(full(2));
        assert!(observers.flush(LIMIT));
        assert_eq!(seen.try_iter().count(), 2);
    }

    #[test]
    fn a_stuck_observer_costs_events_and_no_time() {
        let observers = Observers::with_capacity(4);
        let (release, gate) = channel::<()>();
        let (to, seen) = channel();
        let gate = Mutex::new(gate);
        observers.subscribe(Box::new(move |_| gate.lock().unwrap().recv().unwrap_or(())));
        observers.subscribe(forward(to));
        for queued in 0..20 {
            observers.emit(full(queued));
        }
        // One is with the observer at most, four are in the queue.
        assert!((15..=16).contains(&observers.dropped()), "{}", observers.dropped());
        assert!(!observers.flush(Duration::ZERO), "it is stuck");
        drop(release);
        assert!(observers.flush(LIMIT));
        assert_eq!(seen.try_iter().count() as u64, 20 - observers.dropped());
    }

    #[test]
    fn an_observer_may_subscribe_and_unsubscribe() {
        let observers = Arc::new(Observers::new());
        let (to, seen) = channel();
        let own = Arc::downgrade(&observers);
        let to = Mutex::new(to);
        observers.subscribe(Box::new(move |_| {
            let Some(observers) = own.upgrade() else { return };
            let id = observers.subscribe(Box::new(|_| {}));
            to.lock().unwrap().send(observers.unsubscribe(id)).unwrap();
        }));
        observers.emit(full(1));
        assert!(seen.recv_timeout(LIMIT).unwrap());
    }
}
