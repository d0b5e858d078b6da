//! Writes MessagePack into a buffer that only grows: nothing here can fail.

use rmp::encode;

use crate::Value;

const GROWS: &str = "a buffer in memory takes everything";

/// Appends MessagePack to a buffer.
pub(crate) struct Writer<'a>(pub(crate) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(crate) fn list(&mut self, length: usize) {
        encode::write_array_len(self.0, count(length)).expect(GROWS);
    }

    pub(crate) fn map(&mut self, length: usize) {
        encode::write_map_len(self.0, count(length)).expect(GROWS);
    }

    pub(crate) fn nil(&mut self) {
        encode::write_nil(self.0).expect(GROWS);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        encode::write_bool(self.0, value).expect(GROWS);
    }

    pub(crate) fn unsigned(&mut self, value: u64) {
        encode::write_uint(self.0, value).expect(GROWS);
    }

    pub(crate) fn signed(&mut self, value: i64) {
        encode::write_sint(self.0, value).expect(GROWS);
    }

    pub(crate) fn float(&mut self, value: f64) {
        encode::write_f64(self.0, value).expect(GROWS);
    }

    pub(crate) fn str(&mut self, value: &str) {
        encode::write_str(self.0, value).expect(GROWS);
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        encode::write_bin(self.0, value).expect(GROWS);
    }

    pub(crate) fn extension(&mut self, number: i8, value: &[u8]) {
        encode::write_ext_meta(self.0, count(value.len()), number).expect(GROWS);
        self.0.extend_from_slice(value);
    }

    /// A value, or nil.
    pub(crate) fn nullable<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.nil(),
        }
    }

    pub(crate) fn value(&mut self, value: &Value) {
        value.encode_into(self.0);
    }
}

/// MessagePack counts in 32 bits; bodies are far below that.
fn count(length: usize) -> u32 {
    u32::try_from(length).expect("a value of less than 4 Gi items")
}
