//! Items for a function that reads an input stream: a line of JSON each, as they come.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::{Arc, Mutex, PoisonError};

use ganger::{Input, Inputs, Sent};

use crate::failure::Failure;
use crate::input::InputError;
use crate::json;

/// Feeds a call on a thread of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feeder {
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Feeder {
    /// Begins. The thread is left where it is when the call ends: it may wait for a line that never comes.
    pub(crate) fn begin(source: &str, inputs: Inputs) -> Result<Self, Failure> {
        let lines: Box<dyn BufRead + Send> = if source == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let file = File::open(source);
            Box::new(BufReader::new(file.map_err(|error| InputError::unreadable(source, error))?))
        };
        let feeder = Self::default();
        let (own, source) = (feeder.clone(), source.to_owned());
        std::thread::spawn(move || {
            if let Err(failure) = feed(lines, &source, &inputs) {
                *own.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                inputs.fail(None);
            }
        });
        Ok(feeder)
    }

    /// Why the items broke off, which the call's own end does not tell.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn feed(lines: impl BufRead, source: &str, inputs: &Inputs) -> Result<(), Failure> {
    for (number, line) in (1..).zip(lines.lines()) {
        let line = line.map_err(|error| InputError::unreadable(source, error))?;
        if line.trim().is_empty() {
            continue;
        }
        let not_json = |error| InputError::LineNotJson { number, error };
        let value = serde_json::from_str(&line).map_err(not_json)?;
        match inputs.send_blocking(Input::message_pack(json::to_value(value).encode()), None)? {
            Sent::Taken => {}
            Sent::Full(_) | Sent::Over => return Ok(()),
        }
    }
    inputs.finish();
    Ok(())
}
