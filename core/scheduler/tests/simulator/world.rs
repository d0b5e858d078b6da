//! The processes of a simulated pool: they start, answer, stall, crash and lie as scripted, and what they do becomes input.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ganger_scheduler::{Action, CallId, Exit, Input, Timestamp, WorkerId};

use super::script::{Conduct, Footprint, Run, Start};

const USUAL_START: Start = Start::ReadyAfter(Duration::from_millis(5));
const USUAL_RUN: Run = Run { heard: false, conduct: Conduct::Answers(Duration::from_millis(10)) };
/// From a ping to its answer.
const PONG_TAKES: Duration = Duration::from_millis(1);
/// From kill(2) to the exit being seen.
const KILL_TAKES: Duration = Duration::from_millis(1);
const SIGKILL: i32 = 9;

#[derive(Default)]
pub(crate) struct World {
    starts: VecDeque<Start>,
    attachments: BTreeMap<u64, Start>,
    calls: BTreeMap<CallId, Vec<Run>>,
    processes: BTreeMap<WorkerId, Process>,
    /// What is to come, in order of time and then of being set.
    agenda: BTreeMap<(Timestamp, u64), Happening>,
    entries: u64,
    footprint: Option<Footprint>,
    /// Workers claim calls, and what they say arrives so much later.
    claims: Option<Duration>,
    /// What no worker may do, if one did it.
    broken: Option<String>,
}

struct Process {
    attached: bool,
    stays: bool,
    doomed: bool,
    /// Dead, and not all it said was heard.
    silent: bool,
    mute: bool,
    answered: u64,
    /// What it was given and has not answered, and how it runs it.
    calls: BTreeMap<CallId, Run>,
    /// What lies unread before it, of one that claims calls.
    unread: VecDeque<Frame>,
    /// For calls that were handed ahead.
    tokens: usize,
    /// What it has said and nobody has heard.
    unheard: usize,
}

/// A call on its way to a worker.
struct Frame {
    call: CallId,
    attempt: u32,
    ahead: bool,
    taken_back: bool,
}

enum Happening {
    /// Comes true only if the process is still there.
    Report(WorkerId, Input),
    /// What it said arrives.
    Arrival(WorkerId, Input),
    /// It answers a ping, unless it is at work.
    Pong(WorkerId),
    /// Somebody looks how much memory it uses.
    Sample(WorkerId),
    Death(WorkerId, Exit),
}

impl World {
    pub(crate) fn script_starts(&mut self, starts: impl IntoIterator<Item = Start>) {
        self.starts.extend(starts);
    }

    pub(crate) fn script_attachment(&mut self, attachment: u64, start: Start) {
        self.attachments.insert(attachment, start);
    }

    pub(crate) fn script_call(&mut self, call: CallId, runs: impl IntoIterator<Item = Run>) {
        self.calls.insert(call, runs.into_iter().collect());
    }

    /// From now on the memory of every worker that starts is looked at.
    pub(crate) fn sample(&mut self, footprint: Footprint) {
        self.footprint = Some(footprint);
    }

    /// From now on every worker that starts claims the calls that it begins, and what it says takes so long to arrive.
    pub(crate) fn claim(&mut self, lag: Duration) {
        self.claims = Some(lag);
    }

    pub(crate) fn claims(&self) -> bool {
        self.claims.is_some()
    }

    pub(crate) fn broken(&mut self) -> Option<String> {
        self.broken.take()
    }

    pub(crate) fn workers(&self) -> Vec<WorkerId> {
        self.processes.keys().copied().collect()
    }

    pub(crate) fn next_moment(&self) -> Option<Timestamp> {
        self.agenda.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Takes what is due by `now` and still true.
    pub(crate) fn next_input(&mut self, now: Timestamp) -> Option<Input> {
        while self.next_moment().is_some_and(|at| at <= now) {
            let (_, happening) = self.agenda.pop_first().expect("its key was seen a line ago");
            if let Some(input) = self.come_true(now, happening) {
                return Some(input);
            }
        }
        None
    }

    fn come_true(&mut self, now: Timestamp, happening: Happening) -> Option<Input> {
        match happening {
            Happening::Report(worker, input) => {
                let process = self.processes.get_mut(&worker).filter(|process| !process.silent)?;
                if let Input::Answered { call, .. } = &input {
                    process.answered += u64::from(process.calls.remove(call).is_some());
                }
                let Some(lag) = self.claims else { return Some(input) };
                process.unheard += 1;
                self.plan(now.after(lag), Happening::Arrival(worker, input));
                self.read_on(now, worker);
                None
            }
            Happening::Arrival(worker, input) => {
                self.processes.get_mut(&worker)?.unheard -= 1;
                Some(input)
            }
            Happening::Pong(worker) => {
                let process = self.processes.get(&worker)?;
                (process.calls.is_empty() && !process.mute).then_some(Input::Pong { worker })
            }
            Happening::Sample(worker) => {
                let (process, footprint) = (self.processes.get(&worker)?, self.footprint?);
                let memory = footprint.fresh + footprint.leak * process.answered;
                self.plan(now.after(footprint.every), Happening::Sample(worker));
                Some(Input::Sample { worker, memory })
            }
            Happening::Death(worker, exit) => self.die(now, worker, exit),
        }
    }

    /// Ends a process now. What it has said by then is heard before its end is.
    pub(crate) fn die(&mut self, now: Timestamp, worker: WorkerId, exit: Exit) -> Option<Input> {
        let process = self.processes.get_mut(&worker)?;
        if process.unheard > 0 {
            (process.doomed, process.silent) = (true, true);
            self.plan(now.after(self.claims.unwrap_or_default()), Happening::Death(worker, exit));
            return None;
        }
        let process = self.processes.remove(&worker)?;
        let exit = if process.attached { Exit::Detached } else { exit };
        let unwritten = |run: &Run| matches!(run.conduct, Conduct::Unwritten(..));
        let unwritten = process.calls.iter().filter(|(_, run)| unwritten(run)).map(|(&call, _)| call);
        let unclaimed = process.unread.iter().filter(|frame| !frame.taken_back).map(|frame| frame.call);
        let unwritten = unwritten.chain(unclaimed).collect();
        Some(Input::Exited { worker, exit, unwritten })
    }

    pub(crate) fn carry_out(&mut self, now: Timestamp, action: &Action) {
        match action {
            &Action::Spawn { worker, .. } => {
                let start = self.starts.pop_front().unwrap_or(USUAL_START);
                self.start(now, worker, start, false);
            }
            &Action::Admit { attachment, worker } => {
                let start = self.attachments.remove(&attachment).unwrap_or(USUAL_START);
                self.start(now, worker, start, true);
            }
            &Action::Assign { worker, call, attempt, .. } if self.claims.is_some() => {
                self.send(now, worker, Frame { call, attempt, ahead: false, taken_back: false });
            }
            &Action::Assign { worker, call, attempt, .. } => self.run(now, worker, call, attempt),
            &Action::HandAhead { worker, call, attempt, .. } => {
                self.send(now, worker, Frame { call, attempt, ahead: true, taken_back: false });
            }
            &Action::Cancel { worker, call, .. } => self.ask_to_stop(now, worker, call),
            &Action::Stop { worker, .. } => {
                let Some(process) = self.processes.get_mut(&worker) else { return };
                // Whoever is on his way out says nothing more.
                process.mute = true;
                if !process.stays {
                    self.plan(now.after(KILL_TAKES), Happening::Death(worker, Exit::Code(0)));
                }
            }
            &Action::Kill { worker, .. } => {
                if let Some(process) = self.processes.get_mut(&worker) {
                    process.doomed = true;
                    self.plan(now.after(KILL_TAKES), Happening::Death(worker, Exit::Signal(SIGKILL)));
                }
            }
            &Action::Ping { worker } => {
                self.plan(now.after(PONG_TAKES), Happening::Pong(worker));
            }
            Action::Admitted { .. }
            | Action::TakeUp { .. }
            | Action::TakeBack { .. }
            | Action::Refuse { .. }
            | Action::Settle { .. }
            | Action::Emit(_)
            | Action::Closed => {}
        }
    }

    /// Takes back what a worker has not claimed, the last first.
    pub(crate) fn take_back(&mut self, worker: WorkerId, most: usize) -> usize {
        let Some(process) = self.processes.get_mut(&worker) else { return 0 };
        let taken = most.min(process.tokens);
        process.tokens -= taken;
        let theirs = process.unread.iter_mut().rev().filter(|frame| frame.ahead && !frame.taken_back);
        theirs.take(taken).for_each(|frame| frame.taken_back = true);
        taken
    }

    fn send(&mut self, now: Timestamp, worker: WorkerId, frame: Frame) {
        let Some(process) = self.processes.get_mut(&worker) else { return };
        process.tokens += usize::from(frame.ahead);
        process.unread.push_back(frame);
        self.read_on(now, worker);
    }

    /// A worker that runs nothing begins the next call that it can claim. It sees nothing of a call but its token.
    fn read_on(&mut self, now: Timestamp, worker: WorkerId) {
        loop {
            let Some(process) = self.processes.get_mut(&worker) else { return };
            if !process.calls.is_empty() || process.doomed {
                return;
            }
            let Some(Frame { call, attempt, ahead, taken_back }) = process.unread.pop_front() else { return };
            if ahead && process.tokens == 0 {
                continue;
            }
            process.tokens -= usize::from(ahead);
            if taken_back {
                self.broken = Some(format!("{worker} runs {call}, which was taken back"));
            }
            self.run(now, worker, call, attempt);
        }
    }

    fn start(&mut self, now: Timestamp, worker: WorkerId, start: Start, attached: bool) {
        let stays = matches!(start, Start::ReadyButStays(_));
        let mute = matches!(start, Start::ReadyButMute(_));
        let process = Process {
            attached,
            stays,
            mute,
            doomed: false,
            silent: false,
            answered: 0,
            calls: BTreeMap::new(),
            unread: VecDeque::new(),
            tokens: 0,
            unheard: 0,
        };
        self.processes.insert(worker, process);
        if let Some(Footprint { every, .. }) = self.footprint {
            self.plan(now.after(every), Happening::Sample(worker));
        }
        let sampled = self.footprint.map(|Footprint { fresh, .. }| Input::Sample { worker, memory: fresh });
        let ready = |after| (now.after(after), Happening::Report(worker, Input::Ready { worker }));
        match start {
            Start::ReadyAfter(after) | Start::ReadyButStays(after) | Start::ReadyButMute(after) => {
                let (at, happening) = ready(after);
                // The sampler looks before the first call.
                if let Some(sampled) = sampled {
                    self.report(at, worker, sampled);
                }
                if self.claims.is_some() && !attached {
                    self.report(at, worker, Input::Claims { worker });
                }
                self.plan(at, happening);
            }
            Start::NotStarted => self.plan(now, Happening::Death(worker, Exit::NotStarted)),
            Start::DiesAfter(after, exit) => self.plan(now.after(after), Happening::Death(worker, exit)),
            Start::ReadyThenDies(after, later, exit) => {
                let (at, happening) = ready(after);
                if self.claims.is_some() && !attached {
                    self.report(at, worker, Input::Claims { worker });
                }
                self.plan(at, happening);
                self.plan(at.after(later), Happening::Death(worker, exit));
            }
            Start::Hangs => {}
        }
    }

    fn run(&mut self, now: Timestamp, worker: WorkerId, call: CallId, attempt: u32) {
        let runs = self.calls.get(&call).map_or(&[][..], Vec::as_slice);
        let run = *runs.get(attempt as usize - 1).or(runs.last()).unwrap_or(&USUAL_RUN);
        let Some(process) = self.processes.get_mut(&worker).filter(|process| !process.doomed) else { return };
        process.calls.insert(call, run);
        if run.heard {
            self.report(now, worker, Input::Heard { worker, call });
        }
        let answer = Input::Answered { worker, call };
        match run.conduct {
            Conduct::Answers(after) => self.report(now.after(after), worker, answer),
            Conduct::Streams { every, items } => {
                for item in 1..=items {
                    self.report(now.after(every * item), worker, Input::Heard { worker, call });
                }
                self.report(now.after(every * items), worker, answer);
            }
            Conduct::Stalls | Conduct::StopsAfter(_) => {}
            Conduct::Crashes(after, exit) | Conduct::Unwritten(after, exit) => {
                self.plan(now.after(after), Happening::Death(worker, exit));
            }
            Conduct::AnswersTwice(after) => {
                self.report(now.after(after), worker, answer.clone());
                self.report(now.after(after), worker, answer);
            }
            // The tokens of a worker that lies about what it has done say nothing.
            Conduct::AnswersAnother(after) if self.claims.is_some() => {
                self.report(now.after(after), worker, answer);
            }
            Conduct::AnswersAnother(after) => {
                let another = Input::Answered { worker, call: CallId(call.0 + 1) };
                self.report(now.after(after / 2), worker, another);
                self.report(now.after(after), worker, answer);
            }
            Conduct::AnswersAsFormer(after) => {
                let former = WorkerId { generation: worker.generation.wrapping_sub(1), ..worker };
                self.report(now.after(after / 2), worker, Input::Answered { worker: former, call });
                self.report(now.after(after), worker, answer);
            }
            Conduct::SpeaksAfterwards(after) => {
                self.report(now.after(after), worker, answer);
                self.report(now.after(after), worker, Input::Heard { worker, call });
            }
            Conduct::Violates(after) => self.report(now.after(after), worker, Input::Violated { worker }),
        }
    }

    fn ask_to_stop(&mut self, now: Timestamp, worker: WorkerId, call: CallId) {
        let run = self.processes.get(&worker).and_then(|process| process.calls.get(&call));
        match run.map(|run| run.conduct) {
            Some(Conduct::StopsAfter(after)) => {
                self.report(now.after(after), worker, Input::Answered { worker, call });
            }
            Some(Conduct::Streams { every, .. }) => {
                self.report(now, worker, Input::Heard { worker, call });
                self.report(now.after(every / 2), worker, Input::Answered { worker, call });
            }
            Some(_) | None => {}
        }
    }

    fn report(&mut self, at: Timestamp, worker: WorkerId, input: Input) {
        self.plan(at, Happening::Report(worker, input));
    }

    fn plan(&mut self, at: Timestamp, happening: Happening) {
        self.entries += 1;
        self.agenda.insert((at, self.entries), happening);
    }
}
