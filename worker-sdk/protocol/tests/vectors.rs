//! The Rust codec agrees with the golden vectors.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod vector;

use ganger_protocol::{Assembler, Decoder, Frame, FrameError, Limits, Value};
use serde_json::Value as Json;
use vector::{body_error, body_meaning, bytes_of, frame_error_name, frame_meaning, load, reencode, same};

/// Reads a stream in pieces of one length; gives the frames and the first error.
fn read(bytes: &[u8], piece: usize, limits: Limits) -> (Vec<Frame>, Vec<FrameError>) {
    let (mut decoder, mut assembler) = (Decoder::new(limits), Assembler::new(limits));
    let (mut frames, mut errors) = (Vec::new(), Vec::new());
    for part in bytes.chunks(piece) {
        decoder.buffer().extend_from_slice(part);
        loop {
            let whole = match decoder.next() {
                Ok(Some(frame)) => assembler.accept(frame),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            match whole {
                Ok(frame) => frames.extend(frame),
                Err(error) if error.is_violation() => {
                    errors.push(error);
                    return (frames, errors);
                }
                Err(error) => errors.push(error),
            }
        }
    }
    (frames, errors)
}

#[test]
fn streams_read_as_the_frames_they_are_whole_and_in_pieces() {
    for vector in load("frames.json")["vectors"].as_array().unwrap() {
        let bytes = bytes_of(&vector["hex"]);
        for piece in [usize::MAX, 1, 3, 25] {
            let (frames, errors) = read(&bytes, piece, Limits::default());
            assert_eq!(errors, [], "{}", vector["name"]);
            let meanings: Vec<Json> = frames.iter().map(|frame| frame_meaning(frame).unwrap()).collect();
            assert!(
                same(&Json::Array(meanings.clone()), &vector["frames"]),
                "{}: {meanings:#?}",
                vector["name"]
            );
        }
    }
}

#[test]
fn bodies_survive_encoding() {
    for vector in load("frames.json")["vectors"].as_array().unwrap() {
        for frame in read(&bytes_of(&vector["hex"]), usize::MAX, Limits::default()).0 {
            let again = reencode(&frame).unwrap();
            let meaning = body_meaning(&frame).unwrap();
            assert_eq!(body_meaning(&again).unwrap(), meaning, "{}", vector["name"]);
        }
    }
}

#[test]
fn frames_survive_encoding() {
    for vector in load("frames.json")["vectors"].as_array().unwrap() {
        let frames = read(&bytes_of(&vector["hex"]), usize::MAX, Limits::default()).0;
        let written: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
        assert_eq!(read(&written, usize::MAX, Limits::default()).0, frames, "{}", vector["name"]);
    }
}

#[test]
fn single_frames_with_nothing_to_ignore_are_written_byte_for_byte() {
    let names = ["call-name-only", "stop", "hello", "cancel", "result", "ping", "call-arguments", "attach"];
    for vector in load("frames.json")["vectors"].as_array().unwrap() {
        if names.contains(&vector["name"].as_str().unwrap()) {
            let bytes = bytes_of(&vector["hex"]);
            let frame = read(&bytes, usize::MAX, Limits::default()).0.remove(0);
            assert_eq!(reencode(&frame).unwrap().to_bytes(), bytes, "{}", vector["name"]);
        }
    }
}

#[test]
fn values_mean_what_they_should() {
    for vector in load("values.json")["values"].as_array().unwrap() {
        let bytes = bytes_of(&vector["hex"]);
        let value = Value::decode(&bytes).unwrap_or_else(|error| panic!("{}: {error}", vector["name"]));
        assert_eq!(Value::check(&bytes), Ok(()), "{}", vector["name"]);
        let meaning = vector::value_meaning(&value);
        assert_eq!(meaning, vector["value"], "{}", vector["name"]);
        if vector["shortest"] == true {
            assert_eq!(value.encode(), bytes, "{}", vector["name"]);
        }
    }
}

#[test]
fn malformed_frames_are_refused_for_the_right_reason() {
    for vector in load("malformed.json")["frames"].as_array().unwrap() {
        let mut limits = Limits::default();
        if let Some(most) = vector["max_payload"].as_u64() {
            limits.max_payload = most;
        }
        for piece in [usize::MAX, 1] {
            let (frames, errors) = read(&bytes_of(&vector["hex"]), piece, limits);
            let found = match errors.first() {
                Some(error) => frame_error_name(error),
                None => body_error(&frames),
            };
            assert_eq!(found, vector["error"], "{}", vector["name"]);
            if vector["violation"] == false {
                let meanings: Vec<Json> = frames.iter().map(|frame| frame_meaning(frame).unwrap()).collect();
                assert!(same(&Json::Array(meanings), &vector["frames"]), "{}", vector["name"]);
                assert!(matches!(errors[..], [FrameError::PayloadTooLarge { seq: 3, .. }]), "{errors:?}");
            }
        }
    }
}

#[test]
fn malformed_values_are_refused_for_the_right_reason() {
    for vector in load("malformed.json")["values"].as_array().unwrap() {
        let error = Value::decode(&bytes_of(&vector["hex"])).unwrap_err();
        assert_eq!(Value::check(&bytes_of(&vector["hex"])), Err(error.clone()), "{}", vector["name"]);
        assert_eq!(vector::body_error_name(&error), vector["error"], "{}", vector["name"]);
    }
}

#[test]
fn every_kind_has_a_vector() {
    let vectors = load("frames.json");
    for kind in ganger_protocol::Kind::ALL {
        let number = format!("{:02x}", kind as u8);
        let seen = vectors["vectors"].as_array().unwrap().iter().any(|vector| {
            let bytes = bytes_of(&vector["hex"]);
            read_kinds(&bytes).contains(&(kind as u8))
        });
        assert!(seen, "no vector for {kind} ({number})");
    }
}

fn read_kinds(mut bytes: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk() {
        let header = ganger_protocol::Header::parse(header, &Limits::default()).unwrap();
        kinds.push(header.kind);
        bytes = &rest[header.length as usize..];
    }
    kinds
}
