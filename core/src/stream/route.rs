//! Where the frames of a call's streams go while a worker has it.

use std::sync::{Arc, Weak};

use ganger_protocol::message::Credit;
use ganger_protocol::{Frame, Kind, Lane};

use crate::call::Input;
use crate::link::Link;
use crate::shared::Lender;

/// The call's number at its worker, and the way there.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) link: Weak<Link>,
    pub(crate) seq: u64,
    pub(crate) lender: Lender,
}

impl Route {
    /// To a worker that is gone.
    #[cfg(test)]
    pub(super) fn nowhere() -> Self {
        Self { link: Weak::new(), seq: 1, lender: Lender::default() }
    }

    /// Puts an item of the input stream in line. What comes back is to be flushed without locks.
    pub(super) fn push_input(&self, input: &Input) -> Option<Arc<Link>> {
        self.push(Lane::Data, self.lender.carry(Frame::new(Kind::Input, self.seq), input))
    }

    pub(super) fn push_input_end(&self) -> Option<Arc<Link>> {
        self.push(Lane::Data, Frame::new(Kind::InputEnd, self.seq))
    }

    /// Blocks of items that nobody looks at any more go back with it, so that the worker fills the same ones again.
    pub(super) fn push_credit(&self, credit: Credit) -> Option<Arc<Link>> {
        let link = self.push(Lane::Control, Frame::new(Kind::Credit, self.seq).with_body(credit.encode()))?;
        link.push_returns();
        Some(link)
    }

    fn push(&self, lane: Lane, frame: Frame) -> Option<Arc<Link>> {
        let link = self.link.upgrade()?;
        link.push(lane, frame);
        Some(link)
    }
}
