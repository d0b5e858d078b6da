//! Who waits, in which order, and whether there is room for one more.

use std::time::Duration;

use ganger_scheduler::{CallId, CallSpec};

use super::Observer;
use super::call::{Call, Place};

/// DESIGN 4.1: none starves, since a priority is worth only so much earlier a submission.
const AGEING: Duration = Duration::from_secs(10);

impl Observer {
    /// Calls that will find room in workers that are there or may be started wait for nothing and count for nothing; the
    /// bounds are about those behind them.
    pub(super) fn admits(&self, spec: &CallSpec) -> bool {
        let mut room = self.room_to_come();
        let (mut calls, mut bytes) = (0, 0);
        let mut everyone_fits = true;
        for id in self.waiting() {
            let call = &self.calls[&id];
            let slots = u64::from(call.spec.slots);
            everyone_fits &= slots <= room;
            if everyone_fits {
                room -= slots;
            } else if call.place == Place::Fresh {
                calls += 1;
                bytes += call.spec.bytes;
            }
        }
        if everyone_fits && u64::from(spec.slots) <= room {
            return true;
        }
        calls < self.config.max_queue && (bytes == 0 || bytes + spec.bytes <= self.config.max_queue_bytes)
    }

    /// Calls in the queue, best first.
    pub(super) fn waiting(&self) -> Vec<CallId> {
        let mut waiting: Vec<_> =
            self.calls.iter().filter(|(_, call)| call.waits_in_queue()).map(|(&id, _)| id).collect();
        waiting.sort_by_key(|id| {
            let call = &self.calls[id];
            (turn(call), call.place == Place::Fresh, *id)
        });
        waiting
    }

    /// Calls that wait for room in the queue, first come first.
    pub(super) fn lobby(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.iter().filter(|(_, call)| call.place == Place::Lobby).map(|(&id, _)| id)
    }

    fn room_to_come(&self) -> u64 {
        let startable = u64::from(self.config.workers).saturating_sub(self.lasting() as u64)
            * u64::from(self.config.concurrency);
        let room: u64 = self
            .workers
            .values()
            .filter(|worker| !self.is_replacement(worker))
            .map(|worker| u64::from(worker.room(&self.config)))
            .sum();
        startable + room
    }
}

/// Nanoseconds: smaller goes first.
fn turn(call: &Call) -> i128 {
    let nanoseconds = |span: Duration| i128::try_from(span.as_nanos()).expect("no story is that long");
    nanoseconds(call.submitted_at.elapsed()) - i128::from(call.spec.priority) * nanoseconds(AGEING)
}
