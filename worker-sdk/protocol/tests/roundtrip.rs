//! Random frames through the wire: chunked, interleaved and cut anywhere, they come out as they went in.

use ganger_protocol::{
    Assembler, Decoder, Encoding, Frame, FrameError, HEADER_LENGTH, Kind, Limits, split_into_chunks,
};
use proptest::prelude::*;

fn any_frame(seq: u64) -> impl Strategy<Value = Frame> {
    let kinds = prop_oneof![Just(Kind::Call), Just(Kind::Result), Just(Kind::Item), Just(Kind::Pong)];
    let encodings = prop_oneof![Just(Encoding::MessagePack), Just(Encoding::Raw), Just(Encoding::Pickle5)];
    let body = proptest::collection::vec(any::<u8>(), 0..40);
    let payload = proptest::collection::vec(any::<u8>(), 0..400);
    (kinds, encodings, body, payload).prop_map(move |(kind, encoding, body, payload)| {
        Frame::new(kind, seq).with_body(body).with_payload(encoding, payload)
    })
}

/// All pieces of all frames, one of each in turn.
fn interleave(frames: &[Frame], chunk_bytes: usize) -> Vec<Frame> {
    let mut queues: Vec<_> =
        frames.iter().map(|frame| split_into_chunks(frame.clone(), chunk_bytes)).collect();
    let mut pieces = Vec::new();
    loop {
        let before = pieces.len();
        pieces.extend(queues.iter_mut().filter_map(Iterator::next));
        if pieces.len() == before {
            return pieces;
        }
    }
}

fn read(bytes: &[u8], cuts: &[usize]) -> Vec<Frame> {
    let (mut decoder, mut assembler) = (Decoder::new(Limits::default()), Assembler::new(Limits::default()));
    let (mut frames, mut at) = (Vec::new(), 0);
    let mut lengths = cuts.iter().cycle();
    while at < bytes.len() {
        let end = bytes.len().min(at + lengths.next().expect("a cycle"));
        decoder.buffer().extend_from_slice(&bytes[at..end]);
        at = end;
        while let Some(frame) = decoder.next().expect("sound") {
            frames.extend(assembler.accept(frame).expect("sound"));
        }
    }
    assert!(decoder.is_between_frames());
    assert_eq!(assembler.held_bytes(), 0);
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn frames_come_out_as_they_went_in(
        mut frames in (any_frame(1), any_frame(2), any_frame(3)).prop_map(|(a, b, c)| vec![a, b, c]),
        chunk_bytes in 9usize..200,
        cuts in proptest::collection::vec(1usize..90, 1..6),
    ) {
        let pieces = interleave(&frames, chunk_bytes);
        prop_assert!(pieces.iter().all(|piece| piece.payload.len() <= chunk_bytes));
        let bytes: Vec<u8> = pieces.iter().flat_map(Frame::to_bytes).collect();
        let mut read = read(&bytes, &cuts);
        read.sort_by_key(|frame| frame.seq);
        frames.sort_by_key(|frame| frame.seq);
        prop_assert_eq!(read, frames);
    }
}

#[test]
fn a_large_payload_is_read_in_place() {
    let payload = vec![7; 3 * 1024 * 1024];
    let frame = Frame::new(Kind::Result, 1).with_payload(Encoding::Raw, payload);
    let bytes = frame.to_bytes();
    let mut decoder = Decoder::new(Limits::default());
    decoder.buffer().extend_from_slice(&bytes[..HEADER_LENGTH + 10]);
    assert_eq!(decoder.next(), Ok(None));
    let start = decoder.buffer().as_ptr();
    assert!(decoder.buffer().capacity() >= frame.payload.len(), "the whole length is reserved once");
    decoder.buffer().extend_from_slice(&bytes[HEADER_LENGTH + 10..]);
    let read = decoder.next().expect("sound").expect("whole");
    assert_eq!(read.payload.as_ptr(), start, "no copy");
    assert_eq!(read, frame);
}

#[test]
fn small_frames_share_one_buffer() {
    let bytes: Vec<u8> =
        (1..=100).flat_map(|seq| Frame::new(Kind::Pong, seq).with_body(vec![1, 2, 3]).to_bytes()).collect();
    let mut decoder = Decoder::new(Limits::default());
    decoder.buffer().extend_from_slice(&bytes);
    let start = decoder.buffer().as_ptr() as usize;
    while let Some(frame) = decoder.next().expect("sound") {
        let at = frame.body.as_ptr() as usize;
        assert!((start..start + bytes.len()).contains(&at), "a slice of the buffer");
    }
}

#[test]
fn a_lying_length_reserves_little() {
    let header = ganger_protocol::Header {
        length: 4 * 1024 * 1024 * 1024,
        body_length: 0,
        kind: Kind::Result as u8,
        flags: ganger_protocol::Flags::NONE,
        seq: 1,
    };
    let mut decoder = Decoder::new(Limits::default());
    decoder.buffer().extend_from_slice(&header.to_bytes());
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.buffer().capacity() <= 65 * 1024 * 1024);
}

#[test]
fn abandoned_chunks_are_ignored_and_strange_ones_are_not() {
    let payload = vec![1; 100];
    let frame = Frame::new(Kind::Call, 5).with_payload(Encoding::Raw, payload);
    let pieces: Vec<Frame> = split_into_chunks(frame, 40).collect();
    let mut assembler = Assembler::new(Limits::default());
    assert_eq!(assembler.accept(pieces[0].clone()), Ok(None));
    assert!(assembler.abandon(5));
    assert_eq!(assembler.held_bytes(), 0);
    assert_eq!(assembler.accept(pieces[1].clone()), Ok(None));
    let strange = Frame { seq: 6, ..pieces[1].clone() };
    assert_eq!(assembler.accept(strange), Err(FrameError::ChunkWithoutStart { seq: 6 }));
}
