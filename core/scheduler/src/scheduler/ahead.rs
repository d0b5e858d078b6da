//! Calls are handed to busy workers ahead of their turn, and taken back when somebody else could run them, or nobody wants them.
//!
//! They wait in the queue all the while and count there. What makes it safe is that worker and host cannot both have such a call: the shell
//! says of every one that is to be taken back whether it was.

use std::collections::BTreeSet;

use super::Scheduler;
use crate::action::{Action, CancelReason};
use crate::call::CallState;
use crate::failure::Failure;
use crate::id::{CallId, WorkerId};
use crate::line::{LENGTH, LINGER, Listed, Wish};
use crate::timers::TimerKey;
use crate::worker::{Phase, Share, Worker};

/// Which lines want more, and which have something to give.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The shortest first.
    hungry: BTreeSet<(u32, WorkerId)>,
    /// The fullest last, as far as the number of binary digits tells.
    laden: BTreeSet<(u32, WorkerId)>,
}

impl Scheduler {
    /// The worker claims calls that lie at it.
    pub(super) fn claims(&mut self, id: WorkerId) {
        if let Some(worker) = self.roster.worker_mut(id) {
            worker.line.claims = self.config.concurrency == 1;
        }
    }

    /// When no worker is free, the next calls are laid at those that will be in a moment; when one is and nothing waits, it gets what
    /// lies at others.
    pub(super) fn hand_ahead(&mut self) {
        if self.placement.room() > 0 {
            return self.even_out();
        }
        while let Some(&(_, worker)) = self.lines.hungry.first() {
            let Some(call) = self.next_for(worker) else { return };
            self.lay(call, worker);
        }
    }

    /// A worker has answered a call of so many slots. It keeps them for the next that lies before it, which it is at by now.
    pub(super) fn go_on(&mut self, id: WorkerId, slots: u32) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        let is_free = worker.running.is_empty() && worker.asked.is_empty();
        let next = if is_free { worker.line.take_up() } else { None };
        match next {
            None => self.placement.give_back(id, slots),
            Some((call, Wish::Asked { grace })) => {
                worker.asked.insert(call, Share::Slots(slots));
                self.actions.push_back(Action::TakeUp { worker: id, call });
                self.placement.shut(id);
                self.timers.set(TimerKey::CancelGrace(id, call), self.now.after(grace));
            }
            Some((call, Wish::Answer | Wish::GivenUp { .. })) => {
                worker.running.insert(call, Share::Slots(slots));
                self.begin_lying(id, call);
            }
        }
        self.list(id);
    }

    /// All that lies at a worker which may not come to it soon.
    pub(super) fn take_all_back(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker(id) else { return };
        self.take_back(id, worker.line.takeable());
    }

    /// Nobody waits any longer for a call that lies at a worker. It is settled when it is known who has it.
    pub(super) fn give_up_lying(
        &mut self,
        worker: WorkerId,
        id: CallId,
        failure: Failure,
        reason: CancelReason,
    ) {
        let Some(holder) = self.roster.worker_mut(worker) else { return };
        let behind = holder.line.behind(id);
        holder.line.wish(id, Wish::GivenUp { failure, reason });
        match behind {
            Some(most) => self.take_back(worker, most),
            None => self.stop_claimed(worker),
        }
    }

    /// Of the last that lay at a worker so many are the pool's again; if they are fewer than was asked, the others are the worker's.
    pub(super) fn taken_back(&mut self, id: WorkerId, asked: usize, taken: usize) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        for (call, wish) in worker.line.taken_back(asked, taken) {
            self.counters.taken_back += 1;
            self.return_to_queue(call, wish);
        }
        self.stop_claimed(id);
        self.list(id);
    }

    /// A worker with calls before it has been at one for a while: they may be better off elsewhere.
    pub(super) fn linger_check(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        if worker.line.takeable() == 0 {
            return;
        }
        let since = worker
            .running
            .keys()
            .filter_map(|call| self.calls.get(call))
            .find_map(|call| call.running_since());
        match since.map(|since| since.after(LINGER)).filter(|due| *due > self.now) {
            Some(due) => self.timers.set(TimerKey::Linger(id), due),
            None => {
                worker.line.quick = false;
                self.take_all_back(id);
            }
        }
    }

    /// A worker died. What it cannot have begun waits on; the rest is as lost as what it ran.
    pub(super) fn bury_line(&mut self, worker: &mut Worker, unwritten: &[CallId]) -> Vec<CallId> {
        self.unlist(worker);
        self.timers.clear(TimerKey::Linger(worker.id));
        let mut lost = Vec::new();
        for (id, wish) in worker.line.drain() {
            match wish {
                Wish::Asked { .. } => {}
                Wish::Answer | Wish::GivenUp { .. } if unwritten.contains(&id) => {
                    self.return_to_queue(id, wish)
                }
                Wish::Answer | Wish::GivenUp { .. } => {
                    self.leave_queue(id, worker.id);
                    lost.push(id);
                }
            }
        }
        lost
    }

    /// Keeps the index of lines true. To be called after whatever changes one, or who may get more.
    pub(super) fn list(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        let Listed { hungry, laden } = worker.line.listed;
        let next = Listed { hungry: appetite(worker), laden: worker.line.takeable().checked_ilog2() };
        worker.line.listed = next;
        relist(&mut self.lines.hungry, id, hungry, next.hungry);
        relist(&mut self.lines.laden, id, laden, next.laden);
    }

    fn unlist(&mut self, worker: &Worker) {
        let Listed { hungry, laden } = worker.line.listed;
        relist(&mut self.lines.hungry, worker.id, hungry, None);
        relist(&mut self.lines.laden, worker.id, laden, None);
    }

    /// Only the first that waits: one that has to go by itself must not be passed for ever.
    fn next_for(&self, worker: WorkerId) -> Option<CallId> {
        let first = self.queue.in_order().next()?;
        let call = &self.calls[&first.call];
        let elsewhere = call.spec.affinity.and_then(|key| self.affinity.worker(key));
        let alone =
            !call.spec.ahead || first.herd.is_some() || call.attempts > 0 || !call.excluded.is_empty();
        (!alone && elsewhere.is_none_or(|favourite| favourite == worker)).then_some(first.call)
    }

    fn lay(&mut self, id: CallId, worker: WorkerId) {
        self.queue.lend(id);
        let call = self.calls.get_mut(&id).expect("a waiting call is known");
        call.state = CallState::Lying { worker };
        if let Some(key) = call.spec.affinity {
            self.affinity.note(key, worker);
        }
        let (attempt, remaining) = (call.attempts + 1, call.remaining(self.now));
        self.actions.push_back(Action::HandAhead { worker, call: id, attempt, remaining });
        self.counters.handed_ahead += 1;
        let holder = self.roster.worker_mut(worker).expect("listed workers are known");
        holder.line.lay(id);
        if !self.timers.is_set(TimerKey::Linger(worker)) {
            self.timers.set(TimerKey::Linger(worker), self.now.after(LINGER));
        }
        self.list(worker);
    }

    fn begin_lying(&mut self, worker: WorkerId, id: CallId) {
        self.leave_queue(id, worker);
        if let Some(span) = self.calls[&id].spec.timeout {
            self.timers.set(TimerKey::Timeout(id), self.now.after(span));
        }
        self.actions.push_back(Action::TakeUp { worker, call: id });
    }

    fn leave_queue(&mut self, id: CallId, worker: WorkerId) {
        self.queue.remove(id);
        self.timers.clear(TimerKey::QueueTimeout(id));
        self.calls.get_mut(&id).expect("a waiting call is known").begin(worker, self.now);
    }

    fn return_to_queue(&mut self, id: CallId, wish: Wish) {
        let call = self.calls.get_mut(&id).expect("a waiting call is known");
        call.state = CallState::Waiting;
        match wish {
            Wish::GivenUp { failure, .. } => {
                self.queue.remove(id);
                let call = self.calls.remove(&id).expect("it was there a line ago");
                self.settle(id, &call, failure);
            }
            Wish::Answer | Wish::Asked { .. } => self.queue.recover(id),
        }
    }

    /// What nobody wants and could not be taken back is asked to stop, as a running call is. One that only waited too long has begun in time.
    fn stop_claimed(&mut self, worker: WorkerId) {
        let Some(holder) = self.roster.worker_mut(worker) else { return };
        for (id, wish) in holder.line.claimed_in_vain() {
            let Wish::GivenUp { failure, reason } = wish else { continue };
            if matches!(failure, Failure::QueueTimeout { .. }) {
                self.rewish(worker, id, Wish::Answer);
                continue;
            }
            self.queue.remove(id);
            let call = self.calls.remove(&id).expect("a waiting call is known");
            self.rewish(worker, id, Wish::Asked { grace: call.spec.cancel_grace });
            self.ask_to_stop(worker, id, reason);
            self.settle(id, &call, failure);
        }
    }

    fn rewish(&mut self, worker: WorkerId, id: CallId, wish: Wish) {
        if let Some(holder) = self.roster.worker_mut(worker) {
            holder.line.wish(id, wish);
        }
    }

    fn even_out(&mut self) {
        // Where they go is decided when it is known what was taken.
        if let Some(&(_, worker)) = self.lines.laden.last() {
            self.take_back(worker, usize::try_from(self.placement.room()).unwrap_or(usize::MAX));
        }
    }

    fn take_back(&mut self, worker: WorkerId, most: usize) {
        let Some(holder) = self.roster.worker_mut(worker) else { return };
        let most = most.min(holder.line.takeable());
        if most == 0 {
            return;
        }
        holder.line.ask_back(most);
        self.actions.push_back(Action::TakeBack { worker, most });
        self.list(worker);
    }
}

/// How many calls lie at a worker that should get more; none: it should not.
fn appetite(worker: &Worker) -> Option<u32> {
    let line = &worker.line;
    let length = u32::try_from(line.len()).expect("a line is short");
    let busy = worker.running.len() == 1 && worker.asked.is_empty() && worker.batches.is_empty();
    let serves = matches!(worker.phase, Phase::Ready { .. }) && worker.pinned.is_empty();
    let wants = length <= LENGTH / 2 || (length < LENGTH && line.listed.hungry.is_some());
    (line.is_open() && busy && serves && wants).then_some(length)
}

fn relist(index: &mut BTreeSet<(u32, WorkerId)>, worker: WorkerId, before: Option<u32>, after: Option<u32>) {
    if before == after {
        return;
    }
    if let Some(length) = before {
        index.remove(&(length, worker));
    }
    if let Some(length) = after {
        index.insert((length, worker));
    }
}
