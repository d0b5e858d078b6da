//! What follows from a step of the session: what it has to say is written, then the turn of the next call comes.

use ganger_protocol::{Frame, Lane};

use super::{Engine, Mutex, Session, State, Todo, lock};
use crate::transport::{Arrival, LaneWriter};

impl Engine {
    /// One step of the session, and all that follows from it.
    pub(super) fn act(&self, step: impl FnOnce(&mut State)) {
        self.take(step).into_iter().for_each(|todo| self.perform(todo));
    }

    pub(super) fn arrived(&self, lane: Lane, arrival: Arrival) -> Vec<Todo> {
        self.take(|state| match arrival {
            Arrival::Frame(frame) => state.session.receive(lane, frame),
            Arrival::Refused(error) => state.session.refuse(&error),
            Arrival::End => state.session.host_gone(),
        })
    }

    /// A step of the session, written; with an answer the turn of the next call comes (R62).
    fn take(&self, step: impl FnOnce(&mut State)) -> Vec<Todo> {
        let mut steps = self.step(step);
        if steps.writes {
            self.flush();
        }
        while steps.answers > 0 {
            // Another thread may have taken the answer out of the queue, and be amid its write.
            drop(lock(&self.data_writer));
            let more = self.step(|state| state.session.written(steps.answers));
            if more.writes {
                self.flush();
            }
            steps.todo.extend(more.todo);
            steps.answers = more.answers;
        }
        steps.todo
    }

    /// Writes what is queued. Who holds the writer also writes what others queued meanwhile, in the order of
    /// the session.
    pub(super) fn flush(&self) {
        flush_lane(&self.control_writer, &self.state, |session| &mut session.control_out);
        flush_lane(&self.data_writer, &self.state, |session| &mut session.data_out);
    }
}

fn flush_lane(
    writer: &Mutex<LaneWriter>,
    state: &Mutex<State>,
    queue: impl Fn(&mut Session) -> &mut Vec<Frame>,
) {
    if queue(&mut lock(state).session).is_empty() {
        // Whoever took them holds the writer: waiting for it is waiting for them to be written.
        return;
    }
    let mut writer = lock(writer);
    loop {
        let frames = std::mem::take(queue(&mut lock(state).session));
        if frames.is_empty() {
            return;
        }
        if writer.write(&frames).is_err() {
            // The host is gone (R1).
            std::process::exit(0);
        }
    }
}
