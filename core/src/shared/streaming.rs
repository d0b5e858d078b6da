//! What a worker says of a call that goes on: items, credit for inputs, progress.

use std::sync::Arc;

use ganger_protocol::message::{Credit, FunctionKind, Progress};
use ganger_protocol::{Encoding, Flags, Frame, Kind, Lane};
use ganger_scheduler::{Input as News, Timestamp, WorkerId};

use super::Aftermath;
use super::books::Books;
use super::frames::{Heard, Violation};
use crate::call::{Outcome, Reply};
use crate::error::Error;

impl Books {
    /// One of many values of a call. One of a call that is settled is dropped, and gives no credit.
    pub(super) fn hear_item(
        &mut self,
        heard: &Heard<'_>,
        frame: Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        self.require_ready(heard.worker, frame.kind)?;
        let seq = frame.seq;
        let Some(item) = self.item(heard, frame)? else { return Ok(()) };
        let length = item.payload.len() as u64;
        let limit = heard.shared.options.max_payload;
        if length > limit {
            let error = Error::payload_too_large("item", length, limit);
            self.item_refused(heard.worker, seq, error, heard.now, aftermath);
            return Ok(());
        }
        self.note_heard(heard, seq, aftermath);
        let call = self.call_at(heard.worker, seq);
        let Some(pending) = call.and_then(|call| self.calls.get(&call)) else { return Ok(()) };
        match &pending.streams.unread {
            Some(unread) => aftermath.wake(unread.put(item)?),
            None => self.gather(heard, seq, &item, aftermath)?,
        }
        Ok(())
    }

    /// The item in a frame, wherever it lies; none if the call has been answered.
    fn item(&mut self, heard: &Heard<'_>, frame: Frame) -> Result<Option<Reply>, Violation> {
        let encoding = frame.flags.encoding().ok_or("an item in an unknown encoding")?;
        let Some(member) = self.crew.get(&heard.worker) else { return Ok(None) };
        let (mut payload, mut place) = (frame.payload.clone(), None);
        if frame.flags.contains(Flags::SHARED) {
            let link = member.link().map(Arc::downgrade).unwrap_or_default();
            let found = member.loans.resolve(&frame, link)?;
            (payload, place) = (found.bytes, Some(found.place));
        }
        let view = frame.flags.contains(Flags::VIEW) && encoding == Encoding::Raw;
        let is_known = member.in_flight.contains_key(&frame.seq);
        Ok(is_known.then_some(Reply { encoding, payload, view, place, attempts: 0 }))
    }

    /// Keeps an item for the list of all that the caller gets.
    fn gather(
        &mut self,
        heard: &Heard<'_>,
        seq: u64,
        item: &Reply,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let limit = heard.shared.options.max_payload;
        let Some(member) = self.crew.get_mut(&heard.worker) else { return Ok(()) };
        let link = member.link().cloned();
        let Some(flight) = member.in_flight.get_mut(&seq) else { return Ok(()) };
        let items = flight.items.get_or_insert_default();
        items.take(item.encoding, &item.payload, limit)?;
        if let (Some(credit), Some(link)) = (items.credit(), link) {
            link.push(Lane::Control, Frame::new(Kind::Credit, seq).with_body(credit.encode()));
            aftermath.flush(link);
        }
        Ok(())
    }

    /// Whether this result ends a call of many values, of which there may have been none, for a caller who wants them all at once.
    pub(super) fn is_gathered(&self, worker: WorkerId, seq: u64) -> bool {
        let Some(flight) = self.crew.get(&worker).and_then(|member| member.in_flight.get(&seq)) else {
            return false;
        };
        if flight.items.is_some() {
            return true;
        }
        let Some(pending) = self.calls.get(&flight.call) else { return false };
        let contract = self.contract(&pending.call.function);
        pending.streams.unread.is_none()
            && contract.is_some_and(|contract| contract.kind == FunctionKind::Stream)
    }

    pub(super) fn gathered(&mut self, heard: &Heard<'_>, seq: u64) -> Outcome {
        let member = self.crew.get_mut(&heard.worker);
        let items = member.and_then(|member| member.in_flight.get_mut(&seq)?.items.take());
        let limit = heard.shared.options.max_payload;
        match items.unwrap_or_default().list(limit) {
            Ok(list) => Ok(Reply::message_pack(list)),
            Err(length) => Err(Box::new(Error::payload_too_large("result", length, limit))),
        }
    }

    /// An item with more bytes than a payload may have: its call fails, and its function is asked to stop.
    pub(super) fn item_refused(
        &mut self,
        worker: WorkerId,
        seq: u64,
        error: Error,
        now: Timestamp,
        aftermath: &mut Aftermath,
    ) {
        if let Some(call) = self.call_at(worker, seq) {
            self.give_up(call, Some(Box::new(error)), now, aftermath);
        }
    }

    /// The function has read items of its input stream.
    pub(super) fn hear_credit(
        &mut self,
        heard: &Heard<'_>,
        frame: &Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let credit = Credit::decode(&frame.body).map_err(|error| error.to_string())?;
        self.note_heard(heard, frame.seq, aftermath);
        let call = self.call_at(heard.worker, frame.seq);
        let supply = call.and_then(|call| self.calls.get(&call)?.streams.supply.as_ref());
        aftermath.wake(supply.and_then(|supply| supply.grant(credit)));
        Ok(())
    }

    pub(super) fn hear_progress(
        &mut self,
        heard: &Heard<'_>,
        frame: &Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let progress = Progress::decode(&frame.body).map_err(|error| error.to_string())?;
        self.note_heard(heard, frame.seq, aftermath);
        let call = self.call_at(heard.worker, frame.seq);
        let observer = call.and_then(|call| self.calls.get(&call)?.call.on_progress.clone());
        if let Some(observer) = observer {
            aftermath.tell_progress(observer, progress);
        }
        Ok(())
    }

    /// A frame of a call came: it has started. The scheduler is told once, not with each of a million items.
    pub(super) fn note_heard(&mut self, heard: &Heard<'_>, seq: u64, aftermath: &mut Aftermath) {
        let member = self.crew.get_mut(&heard.worker);
        let Some(flight) = member.and_then(|member| member.in_flight.get_mut(&seq)) else { return };
        if std::mem::replace(&mut flight.heard, true) {
            return;
        }
        let call = flight.call;
        if let Some(supply) = self.calls.get(&call).and_then(|pending| pending.streams.supply.as_ref()) {
            supply.heard();
        }
        self.tell(heard.now, News::Heard { worker: heard.worker, call }, aftermath);
    }
}
