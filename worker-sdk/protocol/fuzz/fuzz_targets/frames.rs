//! Any bytes, as a link would read them. Run it with `cargo +nightly fuzz run frames` in the folder above.

#![no_main]

#[path = "../exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (piece, stream) = bytes.split_first().unwrap_or((&1, &[]));
    exercise::exercise(stream, usize::from(*piece));
});
