//! Makes decisions, so that what they cost can be counted: `make decisions`.
//!
//!     decisions WORKERS WAITING CALLS [AHEAD]
//!
//! So many workers are busy and so many calls wait, if AHEAD is 1 before workers that claim them. Then so many times a worker answers, another call takes its place, and one more
//! comes in.

use std::collections::VecDeque;
use std::time::Duration;

use ganger_scheduler::{
    Action, CallId, CallSpec, Config, Input, Scheduler, Settlement, Timestamp, WhenFull, WorkerId,
};

fn main() {
    let mut given = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let mut next = || given.next().expect("WORKERS WAITING CALLS");
    let (workers, waiting, calls) = (next(), next(), next());
    let ahead = given.next() == Some(1);
    let mut pool = Pool::new(u32::try_from(workers).expect("few enough"), ahead);
    for _ in 0..workers + waiting {
        pool.submit();
    }
    for _ in 0..calls {
        pool.answer_oldest();
        pool.submit();
    }
    assert_eq!((pool.running.len() as u64, pool.settled), (workers, calls));
}

struct Pool {
    scheduler: Scheduler,
    running: VecDeque<(WorkerId, CallId)>,
    last_call: u64,
    settled: u64,
    ahead: bool,
}

impl Pool {
    fn new(workers: u32, ahead: bool) -> Self {
        let scheduler = Scheduler::new(config(workers));
        let mut pool = Self { scheduler, running: VecDeque::new(), last_call: 0, settled: 0, ahead };
        pool.tell(Input::Warm { workers });
        pool
    }

    fn submit(&mut self) {
        self.last_call += 1;
        self.tell(Input::Submit {
            call: CallId(self.last_call),
            spec: CallSpec { ahead: self.ahead, ..spec() },
        });
    }

    fn answer_oldest(&mut self) {
        let (worker, call) = self.running.pop_front().expect("every worker is busy");
        self.tell(Input::Answered { worker, call });
    }

    fn start(&mut self, worker: WorkerId) {
        if self.ahead {
            self.tell(Input::Claims { worker });
        }
        self.tell(Input::Ready { worker });
    }

    fn tell(&mut self, input: Input) {
        let now = Timestamp::from_elapsed(Duration::from_micros(self.last_call));
        self.scheduler.handle(now, input);
        while let Some(action) = self.scheduler.poll_action() {
            match action {
                Action::Spawn { worker, .. } => self.start(worker),
                Action::Assign { worker, call, .. } | Action::TakeUp { worker, call } => {
                    self.running.push_back((worker, call))
                }
                Action::TakeBack { worker, most } => {
                    self.tell(Input::TakenBack { worker, asked: most, taken: most });
                }
                Action::Settle { settlement, .. } => {
                    self.settled += u64::from(matches!(settlement, Settlement::Answered { .. }));
                }
                Action::Emit(_) | Action::Admitted { .. } | Action::HandAhead { .. } => {}
                Action::Admit { .. }
                | Action::Refuse { .. }
                | Action::Cancel { .. }
                | Action::Ping { .. }
                | Action::Stop { .. }
                | Action::Kill { .. }
                | Action::Closed => unreachable!("nothing but calls happens here"),
            }
        }
    }
}

fn spec() -> CallSpec {
    CallSpec {
        bytes: 100,
        priority: 0,
        slots: 1,
        weight: 1,
        idempotent: false,
        retries: 0,
        queue_timeout: None,
        timeout: Some(Duration::from_secs(3600)),
        deadline: None,
        cancel_grace: Duration::from_secs(2),
        affinity: None,
        exclusive: false,
        pinned: None,
        batch: None,
        ahead: false,
    }
}

fn config(workers: u32) -> Config {
    Config {
        workers,
        min_workers: 0,
        idle_timeout: None,
        concurrency: 1,
        max_queue: usize::MAX,
        max_queue_bytes: u64::MAX,
        when_full: WhenFull::Reject,
        start_timeout: Duration::from_secs(30),
        stop_timeout: Duration::from_secs(5),
        health_interval: Some(Duration::from_secs(15)),
        health_timeout: Duration::from_secs(15),
        max_calls: Some(1_000_000),
        max_age: None,
        max_memory: None,
        memory_samples: 2,
        jitter_percent: 10,
        max_replacing: 1,
        seed: 1,
    }
}
