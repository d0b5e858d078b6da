//! The demo's Rust worker: what a photograph is (a content hash) and what it looks like (a perceptual hash).

mod dhash;

use ganger_worker::{Failure, Worker};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
struct Picture {
    /// The file as it is.
    photo: ByteBuf,
    /// Its thumbnail: RGB, row by row.
    pixels: ByteBuf,
    width: usize,
    height: usize,
}

#[derive(Serialize)]
struct Fingerprint {
    sha256: String,
    dhash: String,
}

fn fingerprint(picture: Picture) -> Result<Fingerprint, Failure> {
    let Picture { photo, pixels, width, height } = picture;
    if pixels.is_empty() || pixels.len() != 3 * width * height {
        return Err(Failure::new(format!("{} bytes are not {width} x {height} RGB pixels", pixels.len())));
    }
    Ok(Fingerprint {
        sha256: Sha256::digest(&photo).iter().map(|byte| format!("{byte:02x}")).collect(),
        dhash: format!("{:016x}", dhash::dhash(&pixels, width, height)),
    })
}

fn main() {
    Worker::new().function("fingerprint", fingerprint).run()
}
