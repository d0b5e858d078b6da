//! The floor under a tokio host: ping-pong over an inherited socket, with no protocol at all, one message at a time.
//!
//!     floor CALLS <SOCKET      prints the microseconds that each took, as JSON

use std::env::args;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdStream;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const MESSAGE: [u8; 32] = [0; 32];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls: u32 = args().nth(1).ok_or("CALLS")?.parse()?;
    let stream = StdStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    stream.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let times = runtime.block_on(ping_pong(stream, calls))?;
    serde_json::to_writer(std::io::stdout(), &times)?;
    Ok(())
}

async fn ping_pong(stream: StdStream, calls: u32) -> std::io::Result<Vec<f64>> {
    let mut stream = UnixStream::from_std(stream)?;
    let mut answer = MESSAGE;
    let mut times = Vec::new();
    for _ in 0..calls {
        let begin = Instant::now();
        stream.write_all(&MESSAGE).await?;
        stream.read_exact(&mut answer).await?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}
