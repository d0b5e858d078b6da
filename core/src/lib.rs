//! Ganger: a supervised pool of worker processes.
