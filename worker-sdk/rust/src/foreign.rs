//! For programs that run code of another language: functions that are known only once the code is loaded, that
//! take and give payloads as they cross, and that report errors in their own words.

use ganger_protocol::message::{Contract, ErrorReport, code};
use ganger_protocol::{Bytes, Encoding};

use crate::context::{Context, StartContext};
use crate::function::{Body, Function};
use crate::payload::undecoded_input;
use crate::session::Outcome;
use crate::worker::{Identity, Worker};

/// An input or a result as it crosses: a sound MessagePack value, or raw bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// How.
    pub encoding: Encoding,
    /// The bytes.
    pub payload: Bytes,
}

impl Function {
    /// A function of another language. Its result must be sound: the SDK sends it as it is. It gets its calls one by one, whatever the contract says.
    pub fn foreign<F>(contract: Contract, handler: F) -> Self
    where
        F: Fn(Encoded, &Context) -> Result<Encoded, Box<ErrorReport>> + Send + Sync + 'static,
    {
        let body = move |input: crate::function::Input, context: &Context| {
            let (encoding, shape, payload) = input.into_parts();
            let input = undecoded_input(encoding, shape, payload);
            let ended = input.and_then(|(encoding, payload)| handler(Encoded { encoding, payload }, context));
            match ended {
                Ok(result) => Outcome::Result(result.encoding, result.payload),
                Err(report) if report.code == code::CANCELLED => Outcome::Cancelled,
                Err(report) => Outcome::Failed(report),
            }
        };
        let contract = Contract { batch: None, ..contract };
        Self { contract, state: None, body: Body::Blocking(Box::new(body)) }
    }
}

impl Worker {
    /// A worker whose functions are of another language. Hosts know it by that, and by the name and version of
    /// the program that it is.
    pub fn hosting(language: &'static str, program: &'static str, version: &'static str) -> Self {
        let mut worker = Self::default();
        worker.identity = Identity { language, program, version };
        worker
    }

    /// Loads the code and gives its functions, before the start-up hooks: the only functions of this worker. No two may have the same
    /// name.
    pub fn load<F>(mut self, load: F) -> Self
    where
        F: FnOnce(&StartContext<'_>) -> Result<Vec<Function>, Box<ErrorReport>> + Send + 'static,
    {
        self.load = Some(Box::new(load));
        self
    }
}

impl Context {
    /// Sends an item of a stream as it is; waits until the caller has room for it.
    ///
    /// # Errors
    /// The call was asked to stop meanwhile, or the item is too large.
    pub fn send(&self, item: &Encoded) -> Result<(), Box<ErrorReport>> {
        self.engine.send_item(self, item.encoding, &item.payload).map_err(|end| match end {
            Outcome::Failed(report) => report,
            Outcome::Cancelled | Outcome::Result(..) => {
                Box::new(ErrorReport::new(code::CANCELLED, "Cancelled", "the call was cancelled"))
            }
        })
    }
}
