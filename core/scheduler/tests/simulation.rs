//! What the scheduler does, shown without a process or a clock: stories, random histories and the transition table, all on
//! one simulator.

mod properties;
mod scenarios;
mod simulator;
mod transitions;
