//! Frames in words, for what is told of a broken rule.

use ganger_protocol::message::ErrorReport;
use ganger_protocol::{Flags, Frame, Kind, Value};

/// `ERROR NO_SUCH_FUNCTION "…" for seq 3`.
pub(super) fn describe(frame: &Frame) -> String {
    let what = if frame.kind == Kind::Error {
        match ErrorReport::decode(&frame.body) {
            Ok(report) => format!(" {} {:?}", report.code, cut(&report.message)),
            Err(error) => format!(" whose body cannot be read ({error})"),
        }
    } else if matches!(frame.kind, Kind::Result | Kind::Item) {
        payload(frame)
    } else {
        String::new()
    };
    let seq = if frame.seq == 0 { String::new() } else { format!(" for seq {}", frame.seq) };
    format!("{}{what}{seq}", frame.kind)
}

fn payload(frame: &Frame) -> String {
    let bytes = &frame.payload;
    match Value::decode(bytes) {
        Ok(value) if bytes.len() <= SHOWN && !frame.flags.contains(Flags::SHARED) => {
            format!(" {}", value.to_json())
        }
        Ok(_) | Err(_) => format!(" of {} bytes", bytes.len()),
    }
}

/// The beginning of a long text.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const SHOWN: usize = 120;
