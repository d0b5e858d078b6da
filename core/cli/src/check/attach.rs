//! A worker that joins a named endpoint: its two connections and their first frames (SPEC 1.2).

use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use ganger_protocol::message::Attach;
use ganger_protocol::{HEADER_LENGTH, Header, Kind};

use super::breach::{Breach, Kept, ensure};
use super::process::Process;

/// One connection, and what it said first.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) stream: UnixStream,
    pub(super) attach: Attach,
}

/// The next connection, unless the worker ends first.
pub(super) fn accept(listener: &UnixListener, process: &mut Process, patience: Duration) -> Kept<Joined> {
    let until = Instant::now() + patience;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return first_frame(stream, patience),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(Breach::new(11, EXPECTED, error.to_string())),
        }
        if let Some(exit) = process.exit() {
            return Err(Breach::new(
                11,
                EXPECTED,
                format!("the end, {exit:?}, stderr {:?}", process.stderr()),
            ));
        }
        if Instant::now() > until {
            return Err(Breach::new(11, EXPECTED, "none"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn first_frame(stream: UnixStream, patience: Duration) -> Kept<Joined> {
    let missing = |error: io::Error| Breach::new(11, "ATTACH", error.to_string());
    stream.set_nonblocking(false).map_err(missing)?;
    stream.set_read_timeout(Some(patience)).map_err(missing)?;
    let mut reader = &stream;
    let mut bytes = [0; HEADER_LENGTH];
    reader.read_exact(&mut bytes).map_err(missing)?;
    let header = Header::read(&bytes);
    let is_attach = Kind::from_u8(header.kind) == Some(Kind::Attach) && header.length < 65_536;
    ensure(is_attach, 11, "ATTACH first on each connection", || format!("{header:?}"))?;
    let mut body = vec![0; usize::try_from(header.length).expect("it is short")];
    reader.read_exact(&mut body).map_err(missing)?;
    let attach = Attach::decode(&body[..header.body_length as usize]);
    let attach = attach.map_err(|error| Breach::new(11, "ATTACH", error.to_string()))?;
    stream.set_read_timeout(None).map_err(missing)?;
    Ok(Joined { stream, attach })
}

const EXPECTED: &str = "two connections to the endpoint";
