//! Ganger: a supervised pool of worker processes.

#[cfg(unix)]
#[cfg_attr(not(test), expect(dead_code, reason = "the pool is built on it next"))]
mod capture;
pub mod options;
#[cfg(unix)]
#[cfg_attr(not(test), expect(dead_code, reason = "the pool is built on it next"))]
mod process;
#[cfg(unix)]
#[cfg_attr(not(test), expect(dead_code, reason = "the pool is built on it next"))]
mod runtime;
#[cfg(unix)]
#[cfg_attr(not(test), expect(dead_code, reason = "the pool is built on it next"))]
mod sampler;
pub mod shim;
