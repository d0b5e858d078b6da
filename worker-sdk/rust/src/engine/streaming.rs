//! Items of a call, out and in.

use ganger_protocol::message::{ErrorReport, code};
use ganger_protocol::{Bytes, Encoding, Frame, Kind, split_into_chunks};

use super::{Engine, PoisonError, lock};
use crate::context::Context;
use crate::session::{InputItem, Outcome, Sent};
use crate::streams::StreamError;

/// Bytes of a long item that go before others get a turn.
const PIECE_LENGTH: usize = 256 * 1024;

impl Engine {
    /// Sends an item of a stream; waits until there is credit for it (R30).
    pub(crate) fn send_item(
        &self,
        context: &Context,
        encoding: Encoding,
        payload: &Bytes,
    ) -> Result<(), Outcome> {
        let mut state = lock(&self.state);
        loop {
            if context.is_cancelled() {
                return Err(Outcome::Cancelled);
            }
            match state.session.spend(context.call(), payload.len() as u64) {
                Sent::Queued => break,
                Sent::TooLarge => {
                    return Err(Outcome::Failed(Box::new(state.session.too_large(payload.len()))));
                }
                Sent::Over => return Err(Outcome::Cancelled),
                Sent::Wait => state = self.credit.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
        drop(state);
        self.write_item(context, encoding, payload);
        Ok(())
    }

    /// The same without blocking a thread. A cancel drops the future.
    #[cfg(feature = "async")]
    pub(crate) async fn send_item_async(
        &self,
        context: &Context,
        encoding: Encoding,
        payload: &Bytes,
    ) -> Result<(), Outcome> {
        loop {
            let notice = context.call.credit_notice.notified();
            tokio::pin!(notice);
            // Registered before the look: credit that comes between the two still wakes it.
            notice.as_mut().enable();
            let sent = lock(&self.state).session.spend(context.call(), payload.len() as u64);
            match sent {
                Sent::Queued => break,
                Sent::TooLarge => {
                    let report = lock(&self.state).session.too_large(payload.len());
                    return Err(Outcome::Failed(Box::new(report)));
                }
                Sent::Over => return Err(Outcome::Cancelled),
                Sent::Wait => notice.await,
            }
        }
        self.write_item(context, encoding, payload);
        Ok(())
    }

    /// Credit for it was taken. A long one goes through shared memory, or in pieces if others may want to send between them.
    fn write_item(&self, context: &Context, encoding: Encoding, payload: &Bytes) {
        let seq = context.call();
        // Whoever else sends for this call waits: an item in pieces is followed by no other before its last (R49).
        let _turn = lock(&context.call.sending);
        if let Some(arenas) = self.arenas.get()
            && let Some(reference) = arenas.write(payload)
        {
            if !lock(&self.state).session.item_shared(seq, encoding, reference) {
                arenas.release(&[reference.offset]);
            }
            return self.flush();
        }
        let piece_length = if self.place().concurrency > 1 { PIECE_LENGTH } else { usize::MAX };
        let item = Frame::new(Kind::Item, seq).with_payload(encoding, payload.clone());
        for piece in split_into_chunks(item, piece_length) {
            if !lock(&self.state).session.put_item(piece) {
                return;
            }
            self.flush();
        }
    }

    /// The function takes an item of its input stream: its bytes, wherever they lay.
    pub(crate) fn take_input(&self, seq: u64, item: InputItem) -> Result<Bytes, StreamError> {
        let length = item.length();
        let read = item.shared.zip(self.arenas.get()).map(|(reference, arenas)| arenas.read(reference));
        let mut state = lock(&self.state);
        if let Some(reference) = item.shared {
            state.session.give_back_input(seq, reference);
        }
        state.session.used_input(seq, length);
        drop(state);
        self.flush();
        match read {
            None => Ok(item.payload),
            Some(read) => read.map_err(|error| {
                let message = format!("the item cannot be read from shared memory: {error}");
                StreamError::Misfit(Box::new(ErrorReport::new(code::INVALID_INPUT, "", message)))
            }),
        }
    }
}
