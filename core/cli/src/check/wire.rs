//! Frames off a lane, read without trust: what is wrong with a header is told with its rule.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;

use ganger_protocol::{BytesMut, Flags, Frame, HEADER_LENGTH, Header, Kind, Lane, MAX_BODY_LENGTH};

use super::breach::Breach;

/// What a lane gave.
#[derive(Debug)]
pub(super) enum Heard {
    /// A frame of a known kind.
    Frame(Lane, Frame),
    /// Something that is no frame; nothing follows on that lane.
    Wrong(Breach),
    /// Nothing follows.
    End(Lane),
}

/// Reads a lane to its end on a thread of its own.
pub(super) fn listen(lane: Lane, mut stream: UnixStream, heard: Sender<Heard>) {
    std::thread::spawn(move || {
        loop {
            let news = match read_frame(&mut stream) {
                Ok(Ok(Some(frame))) => Heard::Frame(lane, frame),
                // Unknown, and not critical: R41 lets newer workers say it.
                Ok(Ok(None)) => continue,
                Ok(Err(breach)) => Heard::Wrong(breach),
                Err(_) => Heard::End(lane),
            };
            let last = !matches!(news, Heard::Frame(..));
            if heard.send(news).is_err() || last {
                return;
            }
        }
    });
}

fn read_frame(stream: &mut impl Read) -> io::Result<Result<Option<Frame>, Breach>> {
    let mut bytes = [0; HEADER_LENGTH];
    stream.read_exact(&mut bytes)?;
    let header = Header::read(&bytes);
    if let Some(breach) = wrong(&header, &bytes) {
        return Ok(Err(breach));
    }
    let mut rest = BytesMut::zeroed(usize::try_from(header.length).expect("the length was checked"));
    stream.read_exact(&mut rest)?;
    let body = rest.split_to(header.body_length as usize).freeze();
    let Some(kind) = Kind::from_u8(header.kind) else { return Ok(Ok(None)) };
    Ok(Ok(Some(Frame { kind, flags: header.flags, seq: header.seq, body, payload: rest.freeze() })))
}

fn wrong(header: &Header, bytes: &[u8; HEADER_LENGTH]) -> Option<Breach> {
    let Header { length, body_length, kind, .. } = *header;
    if u64::from(body_length) > length {
        let came = format!("a header with {body_length} bytes of body in {length}");
        return Some(Breach::new(4, "no more bytes of body than of body and payload", came));
    }
    if bytes[14..16] != [0, 0] {
        return Some(Breach::new(4, "zero in the reserved bytes", format!("{:?}", &bytes[14..16])));
    }
    if body_length > MAX_BODY_LENGTH || length > MOST_BYTES {
        let came = format!("a frame of {length} bytes, {body_length} of them body");
        return Some(Breach::new(6, "bodies of 16 MiB at most, and payloads that were asked for", came));
    }
    if header.flags.contains(Flags::CRITICAL) && Kind::from_u8(kind).is_none() {
        let came = format!("a critical frame of the kind {kind}");
        return Some(Breach::new(41, "unknown kinds only without CRITICAL", came));
    }
    None
}

/// No trial asks for more.
const MOST_BYTES: u64 = 256 << 20;
