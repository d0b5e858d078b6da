//! Ganger: a supervised pool of worker processes.

pub mod options;
