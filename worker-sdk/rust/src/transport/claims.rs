//! The descriptor from which calls are claimed that were handed over ahead (R60).

use std::fs::File;
use std::io::{self, Read};

use crate::session::Claims;

/// A semaphore: who reads it gets one token, or hears that there is none.
#[derive(Debug)]
pub(crate) struct ClaimsFile(File);

impl ClaimsFile {
    /// Takes over the descriptor that WELCOME names.
    pub(crate) fn open(number: u32) -> io::Result<Self> {
        super::inherited(number).map(|descriptor| Self(descriptor.into()))
    }
}

impl Claims for ClaimsFile {
    fn claim(&self) -> bool {
        let mut token = [0; 8];
        (&self.0).read(&mut token).is_ok_and(|length| length == token.len())
    }
}
