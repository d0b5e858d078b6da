//! Integers of 128 bits, which the protocol does not have. MessagePack's encoder writes them as bytes, and its decoder takes a negative
//! one for an enormous one; through here they are integers both ways, where they fit 64 bits.

mod reading;
mod writing;

/// Reads or writes what is inside, with all that belongs to it, and integers as said.
pub(crate) struct Fitting<T>(pub(crate) T);
