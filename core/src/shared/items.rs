//! What a function that yields many values has sent, gathered for a caller who wants them all at once.
//!
//! The end of such a call is the list of its items. The worker gets credit as they are taken in: a caller of this kind is never slow.

use ganger_protocol::Encoding;
use ganger_protocol::message::Credit;

use crate::stream::Window;

/// The items of one call so far.
#[derive(Debug, Default)]
pub(crate) struct Items {
    count: u32,
    /// Each in MessagePack, one behind the other.
    packed: Vec<u8>,
    /// Payload bytes, also of items that were too many.
    bytes: u64,
    window: Window,
}

impl Items {
    /// Takes one in. Beyond `limit` bytes they are only counted. The error is what is wrong with it.
    pub(super) fn take(&mut self, encoding: Encoding, payload: &[u8], limit: u64) -> Result<(), String> {
        let length = payload.len() as u64;
        self.bytes += length;
        self.count += 1;
        if !self.window.spend(length) {
            return Err("an item without credit for it (R29)".to_owned());
        }
        self.window.used(length);
        if self.bytes > limit {
            self.packed = Vec::new();
            return Ok(());
        }
        match encoding {
            Encoding::MessagePack => {}
            Encoding::Raw => {
                let length = u32::try_from(length).map_err(|_| format!("an item of {length} bytes"))?;
                self.packed.push(BIN_32);
                self.packed.extend_from_slice(&length.to_be_bytes());
            }
            Encoding::Pickle5 => return Err("a pickled item".to_owned()),
        }
        self.packed.extend_from_slice(payload);
        Ok(())
    }

    /// What the worker is to hear, once half its window is used up.
    pub(super) fn credit(&mut self) -> Option<Credit> {
        self.window.due()
    }

    /// The list of all of them. The error is how many bytes they have, when those are more than `limit`.
    pub(super) fn list(self, limit: u64) -> Result<Vec<u8>, u64> {
        if self.bytes > limit {
            return Err(self.bytes);
        }
        let mut list = Vec::with_capacity(self.packed.len() + 5);
        list.push(ARRAY_32);
        list.extend_from_slice(&self.count.to_be_bytes());
        list.extend_from_slice(&self.packed);
        Ok(list)
    }
}

/// The marks of MessagePack before a length of four bytes.
const BIN_32: u8 = 0xc6;
const ARRAY_32: u8 = 0xdd;

#[cfg(test)]
mod tests {
    use super::*;
    use ganger_protocol::Value;

    #[test]
    fn items_become_a_list_in_their_order() {
        let mut items = Items::default();
        items.take(Encoding::MessagePack, &[1], 100).unwrap();
        items.take(Encoding::Raw, b"raw", 100).unwrap();
        items.take(Encoding::MessagePack, &[0xa1, b'x'], 100).unwrap();
        let list = Value::decode(&items.list(100).unwrap()).unwrap();
        assert_eq!(
            list,
            Value::List(vec![
                Value::Integer(1),
                Value::Bytes(b"raw".to_vec()),
                Value::String("x".to_owned())
            ])
        );
        assert_eq!(Value::decode(&Items::default().list(100).unwrap()).unwrap(), Value::List(Vec::new()));
    }

    #[test]
    fn too_many_bytes_are_told_and_not_kept() {
        let mut items = Items::default();
        for _ in 0..10 {
            items.take(Encoding::Raw, &[0; 100], 250).unwrap();
        }
        assert!(items.packed.is_empty());
        assert_eq!(items.list(250), Err(1000));
    }
}
