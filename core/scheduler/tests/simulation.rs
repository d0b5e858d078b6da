//! What the scheduler does, shown without a process or a clock: stories, random histories and the transition table, all on
//! one simulator; and records of real pools, played again.

mod properties;
mod replay;
mod scenarios;
mod simulator;
mod transitions;
