//! Random mutations of the golden vectors: a bounded piece of what the fuzz target does without end.

mod vector;

#[path = "../fuzz/exercise.rs"]
mod exercise;

use vector::{bytes_of, load};

const ROUNDS: usize = 200_000;

/// A small generator of random numbers whose every run is the same.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).expect("less than the limit")
    }
}

fn streams() -> Vec<Vec<u8>> {
    let (frames, malformed) = (load("frames.json"), load("malformed.json"));
    let all = [&frames["vectors"], &malformed["frames"]];
    let entries = all.iter().flat_map(|list| list.as_array().expect("a list"));
    entries.map(|entry| bytes_of(&entry["hex"])).filter(|bytes| bytes.len() < 4096).collect()
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = [0x00, 0xff, 0x7f, 0x80, 0xc1, 0xdd, 0xdf][random.below(7)],
        2 => bytes.truncate(at),
        3 => bytes.insert(at, u8::try_from(random.below(256)).expect("a byte")),
        4 => {
            let from = random.below(other.len() + 1);
            bytes.splice(at..at, other[from..].iter().copied());
        }
        _ => {
            let end = (at + random.below(8)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
}

#[test]
fn mutated_streams_neither_panic_nor_reserve_beyond_the_limits() {
    let streams = streams();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..ROUNDS {
        let mut bytes = streams[random.below(streams.len())].clone();
        for _ in 0..=random.below(4) {
            let other = &streams[random.below(streams.len())];
            mutate(&mut bytes, other, &mut random);
        }
        exercise::exercise(&bytes, 1 + random.below(64));
    }
}

#[test]
fn every_stream_is_sound_when_cut_anywhere() {
    for stream in streams() {
        for end in 0..=stream.len() {
            exercise::exercise(&stream[..end], usize::MAX);
        }
    }
}
