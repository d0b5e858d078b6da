//! Any bytes, as a link would read them. `make fuzz` runs it.

#![no_main]

#[path = "../exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (piece, stream) = bytes.split_first().unwrap_or((&1, &[]));
    exercise::exercise(stream, usize::from(*piece));
});
