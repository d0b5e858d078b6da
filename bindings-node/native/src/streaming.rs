//! Calls that answer with many values, are given many, or say how far they are.

use std::sync::Arc;

use ganger::{Call, ProgressObserver};
use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;

use crate::fault::thrown;
use crate::inputs::NativeInputs;
use crate::pool::NativePool;
use crate::stream::NativeStream;

type Report = (f64, f64, Option<f64>, Option<String>);

/// What a call has beside its input and its options.
#[napi(object)]
pub struct Beside {
    /// Under this number it appears in `takeSettled` and `takeProgress`, under the next one its inputs in `takeBells`.
    pub ticket: f64,
    pub inputs: bool,
    pub progress: bool,
}

#[napi]
impl NativePool {
    /// As `submit`, with what is beside. The call's number, or 0, and where its inputs go.
    #[napi(catch_unwind)]
    pub fn submit_with(
        &self,
        beside: Beside,
        function: String,
        payload: BufferSlice<'_>,
        length: f64,
        form: i32,
        options: Option<String>,
    ) -> napi::Result<(f64, Option<NativeInputs>)> {
        let bytes = payload.get(..length as usize).unwrap_or_default();
        let call = self.observed(self.made(function, (bytes, form), options)?, &beside);
        let completion = self.settles(beside.ticket);
        let (call, inputs) = if beside.inputs {
            let (call, inputs) = self.pool.submit_with_inputs(call, completion);
            (call, Some(NativeInputs::new(inputs, Arc::clone(&self.mailbox), beside.ticket + 1.0)))
        } else {
            (self.pool.submit(call, completion), None)
        };
        Ok((call.map_or(0.0, |call| call.0 as f64), inputs))
    }

    /// Makes a call whose items are taken one by one, and where its inputs go.
    #[napi(catch_unwind)]
    pub fn stream(
        &self,
        beside: Beside,
        function: String,
        payload: BufferSlice<'_>,
        length: f64,
        form: i32,
        options: Option<String>,
    ) -> napi::Result<(NativeStream, Option<NativeInputs>)> {
        let bytes = payload.get(..length as usize).unwrap_or_default();
        let call = self.observed(self.made(function, (bytes, form), options)?, &beside);
        let (stream, inputs) = if beside.inputs {
            let (stream, inputs) = self.pool.stream_with_inputs(call);
            (stream, Some(NativeInputs::new(inputs, Arc::clone(&self.mailbox), beside.ticket + 1.0)))
        } else {
            (self.pool.stream(call), None)
        };
        Ok((NativeStream::new(stream, Arc::clone(&self.mailbox)), inputs))
    }

    /// Sends an item of an input stream, whose bytes are as those of `submit`. Returns what `NativeInputs.ready` says then.
    #[napi(catch_unwind)]
    pub fn send(
        &self,
        inputs: &mut NativeInputs,
        payload: BufferSlice<'_>,
        length: f64,
        form: i32,
    ) -> napi::Result<u32> {
        let bytes = payload.get(..length as usize).unwrap_or_default();
        inputs.send(self.input(bytes, form)).map_err(|error| thrown(&error))
    }

    /// How far calls are: the ticket, what is done, of how much, and a note, oldest first.
    #[napi(catch_unwind)]
    pub fn take_progress(&self) -> Vec<Report> {
        let reports = self.mailbox.take_progress();
        reports.map(|(ticket, it)| (ticket, it.done, it.total, it.note)).collect()
    }

    /// Numbers of streams, both ways, that can go on.
    #[napi(catch_unwind)]
    pub fn take_bells(&self) -> Vec<f64> {
        self.mailbox.take_bells()
    }
}

impl NativePool {
    fn observed(&self, call: Call, beside: &Beside) -> Call {
        let (mailbox, ticket) = (Arc::clone(&self.mailbox), beside.ticket);
        let observer =
            beside.progress.then(|| ProgressObserver::new(move |progress| mailbox.report(ticket, progress)));
        Call { on_progress: observer, ..call }
    }
}
