//! The items of an input stream on their way from JavaScript.

use std::sync::Arc;

use ganger::{Error, Input, Inputs, Sent};
use napi_derive::napi;

use crate::bell::now_or_later;
use crate::mailbox::Mailbox;

const WAIT: u32 = 0;
const ROOM: u32 = 1;
const OVER: u32 = 2;

/// When it is collected unfinished, the call is given up.
#[napi]
pub struct NativeInputs {
    inputs: Inputs,
    mailbox: Arc<Mailbox>,
    number: f64,
    /// An item for which there was no room after all.
    left: Option<Input>,
}

impl NativeInputs {
    /// `number` appears in `takeBells` when there is room after there was none.
    pub(crate) fn new(inputs: Inputs, mailbox: Arc<Mailbox>, number: f64) -> Self {
        Self { inputs, mailbox, number, left: None }
    }

    pub(crate) fn send(&mut self, item: Input) -> Result<u32, Box<Error>> {
        match self.inputs.try_send(item)? {
            Sent::Full(item) => self.left = Some(item),
            Sent::Taken | Sent::Over => {}
        }
        Ok(self.ready())
    }
}

#[napi]
impl NativeInputs {
    /// 0: there is no room now, and the number appears in `takeBells` when this has changed. 1: there is room for another item. 2: the call
    /// has ended.
    #[napi(catch_unwind)]
    pub fn ready(&mut self) -> u32 {
        loop {
            if !now_or_later(&self.mailbox, self.number, |wake| self.inputs.notify(wake)) {
                return WAIT;
            }
            let Some(item) = self.left.take() else { break };
            if let Ok(Sent::Full(item)) = self.inputs.try_send(item) {
                self.left = Some(item);
            }
        }
        if self.inputs.is_over() { OVER } else { ROOM }
    }

    /// The end of the items.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        self.inputs.finish();
    }

    /// The source of the items has failed: the call is given up.
    #[napi(catch_unwind)]
    pub fn fail(&self) {
        self.inputs.fail(None);
    }
}
