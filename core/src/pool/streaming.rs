//! Calls that answer with many values, or are given many.

use std::sync::Arc;

use ganger_scheduler::CallId;

use super::Pool;
use crate::call::{Call, Completion};
use crate::shared::Streams;
use crate::stream::{Inputs, Stream, Supply, Unread};

impl Pool {
    /// Makes a call of a function that yields many values, and gives its items as they come. A function that answers with one value gives
    /// no items: its value is the end. A function that reads an input stream sees an empty one.
    pub fn stream(&self, call: Call) -> Stream {
        let streams = Streams { unread: Some(Arc::default()), supply: None };
        self.begin(call, streams).0
    }

    /// The same for a function that reads an input stream beside its input: both go on at once.
    pub fn stream_with_inputs(&self, call: Call) -> (Stream, Inputs) {
        let supply = Arc::new(Supply::new());
        let streams = Streams { unread: Some(Arc::default()), supply: Some(Arc::clone(&supply)) };
        let (stream, id) = self.begin(call, streams);
        (stream, self.inputs(supply, id))
    }

    /// Makes a call that is given many values and answers with one, or with the list of its items: [`Pool::submit`] with an input stream. It
    /// is never tried again. `completion` may be called before this returns.
    pub fn submit_with_inputs(&self, call: Call, completion: Completion) -> (Option<CallId>, Inputs) {
        let supply = Arc::new(Supply::new());
        let streams = Streams { unread: None, supply: Some(Arc::clone(&supply)) };
        let ended = Arc::clone(&supply);
        let completion: Completion = Box::new(move |outcome| {
            ended.end();
            completion(outcome);
        });
        let id = self.enter(call, completion, None, streams);
        (id, self.inputs(supply, id))
    }

    fn begin(&self, call: Call, streams: Streams) -> (Stream, Option<CallId>) {
        let unread: Arc<Unread> = streams.unread.clone().unwrap_or_default();
        let (reader, supply) = (Arc::clone(&unread), streams.supply.clone());
        let completion: Completion = Box::new(move |outcome| {
            if let Some(supply) = supply {
                supply.end();
            }
            reader.end(outcome);
        });
        let id = self.enter(call, completion, None, streams);
        (Stream::new(unread, id, &self.0.shared, self.0.made_in), id)
    }

    fn inputs(&self, supply: Arc<Supply>, call: Option<CallId>) -> Inputs {
        Inputs::new(supply, call, &self.0.shared, self.0.made_in)
    }
}
