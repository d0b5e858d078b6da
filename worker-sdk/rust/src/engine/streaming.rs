//! Items of a call, out and in.

use ganger_protocol::message::{ErrorReport, code};
use ganger_protocol::{Bytes, Encoding};

use super::{Engine, PoisonError, lock};
use crate::context::Context;
use crate::session::{InputItem, Outcome, Sent};
use crate::streams::StreamError;

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
        self.write_item(context.call(), encoding, payload);
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
        self.write_item(context.call(), encoding, payload);
        Ok(())
    }

    /// Credit for it was taken. A long one goes through shared memory.
    fn write_item(&self, seq: u64, encoding: Encoding, payload: &Bytes) {
        let shared = self.arenas.get().and_then(|arenas| Some((arenas, arenas.write(payload)?)));
        let mut state = lock(&self.state);
        if let Some((arenas, reference)) = shared {
            if !state.session.item_shared(seq, encoding, reference) {
                arenas.release(&[reference.offset]);
            }
        } else {
            state.session.put_item(seq, encoding, payload);
        }
        drop(state);
        self.flush();
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
