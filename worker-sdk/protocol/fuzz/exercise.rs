//! What the fuzz target and the bounded test do with any bytes at all: read them as a link would, and hold
//! the codec to its bounds.

use ganger_protocol::message::{
    Attach, Call, Cancel, Credit, ErrorReport, Hello, Log, Progress, Ready, Release, Stop, Welcome,
};
use ganger_protocol::{Assembler, BodyError, Decoder, Frame, Kind, Limits, Value};

/// Small, so that a length that lies is far beyond them.
pub(crate) const LIMITS: Limits = Limits { max_body: 64 * 1024, max_payload: 256 * 1024 };

/// The most memory the decoder may hold for these limits: a whole frame, or a read, with the growth of a
/// vector.
const MOST_BUFFERED: usize = 2 * (64 + 256 + 64) * 1024;

/// Reads the bytes in pieces, decodes all that comes out, and checks that what decodes also encodes to the
/// same meaning.
pub(crate) fn exercise(bytes: &[u8], piece: usize) {
    let (mut decoder, mut assembler) = (Decoder::new(LIMITS), Assembler::new(LIMITS));
    for part in bytes.chunks(piece.max(1)) {
        decoder.buffer().extend_from_slice(part);
        loop {
            let outcome = match decoder.next() {
                Ok(Some(frame)) => assembler.accept(frame),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(Some(frame)) => exercise_frame(&frame),
                Ok(None) => {}
                Err(error) if error.is_violation() => return,
                Err(_) => {}
            }
        }
        assert!(
            decoder.buffer().capacity() <= MOST_BUFFERED,
            "{} bytes reserved",
            decoder.buffer().capacity()
        );
        assert!(assembler.held_bytes() <= bytes.len(), "the assembler holds more than came");
    }
}

fn exercise_frame(frame: &Frame) {
    assert!(frame.payload.len() as u64 <= LIMITS.max_payload);
    if let Ok(value) = Value::decode(&frame.payload) {
        let again = Value::decode(&value.encode()).expect("what was written reads");
        assert_eq!(format!("{again:?}"), format!("{value:?}"));
    }
    // An error is a fine answer to any bytes; a panic or another meaning after encoding is not.
    drop(exercise_body(frame.kind, &frame.body));
}

fn exercise_body(kind: Kind, body: &[u8]) -> Result<(), BodyError> {
    match kind {
        Kind::Call => {
            stable(&Call::decode(body)?.encode(), |body| Call::decode(body).map(|call| call.encode()))
        }
        Kind::Stop => stable(&Stop::decode(body)?.encode(), |body| Stop::decode(body).map(|it| it.encode())),
        Kind::Ready => {
            stable(&Ready::decode(body)?.encode(), |body| Ready::decode(body).map(|it| it.encode()))
        }
        Kind::Error => {
            stable(&ErrorReport::decode(body)?.encode(), |body| {
                ErrorReport::decode(body).map(|it| it.encode())
            });
        }
        Kind::Progress => {
            stable(&Progress::decode(body)?.encode(), |body| Progress::decode(body).map(|it| it.encode()));
        }
        Kind::Log => stable(&Log::decode(body)?.encode(), |body| Log::decode(body).map(|it| it.encode())),
        Kind::Attach => {
            stable(&Attach::decode(body)?.encode(), |body| Attach::decode(body).map(|it| it.encode()))
        }
        Kind::Hello => {
            stable(&Hello::decode(body)?.encode(), |body| Hello::decode(body).map(|it| it.encode()))
        }
        Kind::Welcome => {
            stable(&Welcome::decode(body)?.encode(), |body| Welcome::decode(body).map(|it| it.encode()));
        }
        Kind::Cancel => {
            stable(&Cancel::decode(body)?.encode(), |body| Cancel::decode(body).map(|it| it.encode()))
        }
        Kind::Release => {
            stable(&Release::decode(body)?.encode(), |body| Release::decode(body).map(|it| it.encode()))
        }
        Kind::Credit => {
            stable(&Credit::decode(body)?.encode(), |body| Credit::decode(body).map(|it| it.encode()))
        }
        Kind::Input | Kind::InputEnd | Kind::Ping | Kind::Chunk | Kind::Result | Kind::Item | Kind::Pong => {}
    }
    Ok(())
}

/// What was encoded decodes, and encodes to the same bytes.
fn stable(encoded: &[u8], again: impl Fn(&[u8]) -> Result<Vec<u8>, BodyError>) {
    assert_eq!(again(encoded).expect("what was written reads"), encoded);
}
