//! `ganger replay`: a pool's flight record, played again.

use std::io::{self, Write};

use crate::arguments::ReplayArguments;
use crate::failure::Failure;
use crate::input;

/// Does what the command line says.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<(), Failure> {
    let story = ganger::flight::replay(&input::text(&arguments.record)?)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(story.as_bytes())?;
    Ok(stdout.flush()?)
}
