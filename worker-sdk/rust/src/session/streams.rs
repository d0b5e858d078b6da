//! Items both ways, and the credit for them.

use ganger_protocol::message::{CancelReason, Credit, ErrorReport, code};
use ganger_protocol::{Encoding, Flags, Frame, Kind, Reference, STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS};

use super::{Effect, InputItem, Sent, Session};

/// How far the input stream of a running call is.
#[derive(Debug)]
pub(super) enum Inputs {
    /// Its function reads none.
    None,
    Open {
        /// Used by the function, and not told yet.
        owed: Credit,
    },
    /// INPUT_END came.
    Ended,
}

impl Session {
    /// Takes credit for an item of so many bytes (R29).
    pub(crate) fn spend(&mut self, seq: u64, length: u64) -> Sent {
        if length > self.max_payload {
            return Sent::TooLarge;
        }
        let Some(running) = self.running.get_mut(&seq) else { return Sent::Over };
        if running.credit_items <= 0 || running.credit_bytes <= 0 {
            return Sent::Wait;
        }
        running.credit_items -= 1;
        running.credit_bytes -= i64::try_from(length).unwrap_or(i64::MAX);
        Sent::Queued
    }

    /// Sends an item whose credit was taken before, or a piece of one: the pieces that follow the first are sent whatever becomes of the call.
    /// False: the call has ended before.
    pub(crate) fn put_item(&mut self, item: Frame) -> bool {
        let goes = item.kind == Kind::Chunk || self.running.contains_key(&item.seq);
        if goes {
            self.data_out.push(item);
        }
        goes
    }

    /// Sends an item that lies in shared memory, whose credit was taken before. False: the call has ended, and nobody hears of it.
    pub(crate) fn item_shared(&mut self, seq: u64, encoding: Encoding, reference: Reference) -> bool {
        if !self.running.contains_key(&seq) {
            return false;
        }
        let mut frame = Frame::new(Kind::Item, seq).with_payload(encoding, reference.to_bytes().to_vec());
        frame.flags = frame.flags.with(Flags::SHARED);
        self.data_out.push(frame);
        true
    }

    /// The function has taken an item of its input stream. Credit goes back by halves of the window (R50).
    pub(crate) fn used_input(&mut self, seq: u64, length: u64) {
        let Some(running) = self.running.get_mut(&seq) else { return };
        let Inputs::Open { owed } = &mut running.inputs else { return };
        owed.items += 1;
        owed.bytes += length;
        if owed.items >= STREAM_CREDIT_ITEMS / 2 || owed.bytes >= STREAM_CREDIT_BYTES / 2 {
            let credit = std::mem::take(owed);
            self.control_out.push(Frame::new(Kind::Credit, seq).with_body(credit.encode()));
        }
    }

    /// Nothing in the worker looks at a block any more that came with an item (R54).
    pub(crate) fn give_back_input(&mut self, seq: u64, reference: Reference) {
        if self.running.contains_key(&seq) {
            let release = ganger_protocol::message::Release { offsets: vec![reference.offset] };
            self.data_out.push(Frame::new(Kind::Release, seq).with_body(release.encode()));
        }
    }

    /// INPUT, whole, or INPUT_END. What comes for a call that does not read it is ignored (R51, R52).
    pub(super) fn input(&mut self, frame: Frame) -> Result<(), String> {
        let shared = self.reference(&frame)?;
        let max_payload = self.max_payload;
        let Some(running) = self.running.get_mut(&frame.seq) else { return Ok(()) };
        if !matches!(running.inputs, Inputs::Open { .. }) || running.cancelled {
            return Ok(());
        }
        if frame.kind == Kind::InputEnd {
            running.inputs = Inputs::Ended;
            self.effects.push(Effect::InputEnd { seq: frame.seq });
            return Ok(());
        }
        let item = InputItem { encoding: frame.flags.encoding(), payload: frame.payload, shared };
        if item.length() > max_payload {
            let message = format!("an item has {} bytes, the limit is {max_payload}", item.length());
            self.input_too_large(frame.seq, &message);
        } else {
            self.effects.push(Effect::Input { seq: frame.seq, item });
        }
        Ok(())
    }

    /// The function is asked to stop, and its call ends so whatever it answers (R53).
    pub(super) fn input_too_large(&mut self, seq: u64, message: &str) {
        let Some(running) = self.running.get_mut(&seq) else { return };
        if !matches!(running.inputs, Inputs::Open { .. }) {
            return;
        }
        running.refused = Some(Box::new(ErrorReport::new(code::PAYLOAD_TOO_LARGE, "", message)));
        if !std::mem::replace(&mut running.cancelled, true) {
            self.effects.push(Effect::Cancel { seq, reason: CancelReason::Cancel });
        }
    }
}
