//! Encodings as numbers, for a call that is made a hundred thousand times a second.

use ganger::Encoding;

/// None: it is the number of a buffer from `alloc`, which holds raw bytes.
pub(crate) fn from_number(number: i32) -> Option<Encoding> {
    match number {
        0 => Some(Encoding::MessagePack),
        1 => Some(Encoding::Raw),
        2 => Some(Encoding::Pickle5),
        _ => None,
    }
}

pub(crate) fn to_number(encoding: Encoding) -> i32 {
    match encoding {
        Encoding::MessagePack => 0,
        Encoding::Raw => 1,
        Encoding::Pickle5 => 2,
    }
}
