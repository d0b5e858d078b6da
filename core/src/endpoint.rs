//! The named endpoint: where workers attach that a person starts by hand (SPEC 1.2).
//!
//! A private directory, a one-time token for each worker and the peer's user id keep others out.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ganger_protocol::message::Attach;
use ganger_protocol::{HEADER_LENGTH, Header, Kind, Lane, Limits};
use interprocess::local_socket::tokio::{Listener, Stream, prelude::*};
use interprocess::local_socket::{GenericFilePath, ListenerOptions};
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::crew::Lanes;
use crate::error::{Error, ErrorCode};
use crate::options::Endpoint as Place;
use crate::process::{ProcessTag, Registered, WatchedFile, fork::ForkGate};
use crate::shared::Shared;

/// How long a connection may take to say what it is.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Longest body of the frame with which it does.
const LONGEST_INTRODUCTION: u32 = 4096;

/// What a person needs to attach a worker: both go into its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// For `GANGER_ENDPOINT`.
    pub address: PathBuf,
    /// For `GANGER_TOKEN`; good for one worker.
    pub token: String,
}

/// Listens as long as it exists; leaves no file behind.
#[derive(Debug)]
pub(crate) struct Endpoint {
    address: PathBuf,
    /// The directory that was made for it.
    directory: Option<PathBuf>,
    door: Arc<Door>,
    listening: JoinHandle<()>,
    /// Removed by the reaper if this process is killed.
    watched: Vec<WatchedFile>,
    /// The file is that process's to remove, not a forked child's.
    made_in: ProcessTag,
}

/// Who may come in, and who has one foot in.
#[derive(Debug)]
struct Door {
    pool: Weak<Shared>,
    tokens: Mutex<HashSet<String>>,
    /// First lanes that wait for their second, by token and session.
    waiting: Mutex<HashMap<(String, String), (Lane, UnixStream)>>,
}

impl Endpoint {
    /// Opens the endpoint that the options ask for, if they do.
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Option<Self>, Error> {
        let Some(place) = &shared.options.endpoint else { return Ok(None) };
        let opened = Self::listen(place, shared);
        opened.map(Some).map_err(|error| {
            Error::new(ErrorCode::InvalidOption, format!("cannot open the endpoint: {error}"))
                .with_detail("option", "endpoint")
        })
    }

    pub(crate) fn invite(&self) -> Invitation {
        let token = secret();
        self.door.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone());
        Invitation { address: self.address.clone(), token }
    }

    fn listen(place: &Place, shared: &Arc<Shared>) -> io::Result<Self> {
        let (address, directory) = match place {
            Place::At(path) => (std::path::absolute(path)?, None),
            Place::Private => {
                let directory = private_directory()?;
                (directory.join("endpoint"), Some(directory))
            }
        };
        let _runtime = shared.runtime.enter();
        let name = address.clone().to_fs_name::<GenericFilePath>()?;
        if directory.is_none() {
            clear_away_what_nobody_listens_at(&address);
        }
        let listener = ListenerOptions::new().name(name).create_tokio()?;
        std::fs::set_permissions(&address, std::fs::Permissions::from_mode(0o600))?;
        let door =
            Arc::new(Door { pool: shared.weak(), tokens: Mutex::default(), waiting: Mutex::default() });
        let listening = shared.runtime.spawn(serve(listener, Arc::clone(&door)));
        let watched = [Some(&address), directory.as_ref()].into_iter().flatten();
        let watched = watched.filter_map(|path| WatchedFile::new(path)).collect();
        Ok(Self { address, directory, door, listening, watched, made_in: ProcessTag::here() })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if !self.made_in.is_here() {
            return;
        }
        self.listening.abort();
        let _ = std::fs::remove_file(&self.address);
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_dir(directory);
        }
        self.watched.clear();
    }
}

/// A host that was killed together with its reaper leaves its socket, at which no other could listen.
fn clear_away_what_nobody_listens_at(address: &Path) {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if UnixStream::connect(address).is_err_and(refused) {
        let _ = std::fs::remove_file(address);
    }
}

async fn serve(listener: Listener, door: Arc<Door>) {
    loop {
        match listener.accept().await {
            Ok(stream) => drop(tokio::spawn(greet(stream, Arc::clone(&door)))),
            Err(error) => {
                // Out of descriptors, most likely: it passes, and asking at once would only burn time.
                tracing::warn!(%error, "the endpoint cannot take a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn greet(mut stream: Stream, door: Arc<Door>) {
    match timeout(INTRODUCTION, introduction(&mut stream)).await {
        Ok(Ok(attach)) => {
            if let Err(error) = admitted(stream).and_then(|stream| door.enter(attach, stream)) {
                tracing::warn!(%error, "a connection to the endpoint was turned away");
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "a connection to the endpoint did not introduce itself"),
        Err(_) => tracing::warn!("a connection to the endpoint said nothing"),
    }
}

/// Reads the first frame and not one byte more: the rest is for the lane's reader.
async fn introduction(stream: &mut Stream) -> io::Result<Attach> {
    let limits = Limits { max_body: LONGEST_INTRODUCTION, max_payload: 0 };
    let mut head = [0; HEADER_LENGTH];
    stream.read_exact(&mut head).await?;
    let header = Header::parse(&head, &limits).map_err(io::Error::other)?;
    if Kind::from_u8(header.kind) != Some(Kind::Attach) {
        return Err(io::Error::other("its first frame is no ATTACH"));
    }
    let mut body = vec![0; header.body_length as usize];
    stream.read_exact(&mut body).await?;
    Attach::decode(&body).map_err(io::Error::other)
}

fn admitted(stream: Stream) -> io::Result<UnixStream> {
    require_same_user(&stream)?;
    let Stream::UdSocket(stream) = stream;
    Ok(UnixStream::from(OwnedFd::try_from(stream)?))
}

impl Door {
    fn enter(&self, attach: Attach, stream: UnixStream) -> io::Result<()> {
        let Attach { token, lane, session } = attach;
        let lane = lane.ok_or_else(|| io::Error::other("it does not say which lane it is"))?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if !tokens.contains(&token) {
            return Err(io::Error::other("its token is unknown or used up"));
        }
        let key = (token, session);
        match waiting.remove(&key) {
            None => drop(waiting.insert(key, (lane, stream))),
            Some((other, _)) if other == lane => return Err(io::Error::other("the same lane came twice")),
            Some((_, first)) => {
                tokens.remove(&key.0);
                let (data, control) = match lane {
                    Lane::Control => (first, stream),
                    Lane::Data => (stream, first),
                };
                drop((waiting, tokens));
                self.let_in(data, control)?;
            }
        }
        Ok(())
    }

    fn let_in(&self, data: UnixStream, control: UnixStream) -> io::Result<()> {
        let Some(shared) = self.pool.upgrade() else { return Ok(()) };
        for stream in [&data, &control] {
            stream.set_nonblocking(true)?;
        }
        let gate = ForkGate::shut();
        let lanes = Lanes { data: Registered::new(data, &gate), control: Registered::new(control, &gate) };
        drop(gate);
        shared.attach(lanes);
        Ok(())
    }
}

/// Where the system does not tell, the directory's mode alone keeps others out.
fn require_same_user(stream: &Stream) -> io::Result<()> {
    match stream.peer_creds()?.euid() {
        Some(peer) if peer != nix::unistd::geteuid().as_raw() && peer != 0 => {
            Err(io::Error::other(format!("it belongs to user {peer}")))
        }
        Some(_) | None => Ok(()),
    }
}

fn private_directory() -> io::Result<PathBuf> {
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let base = base.unwrap_or_else(std::env::temp_dir);
    let directory: &Path = &base.join(format!("ganger-{}", secret()));
    std::fs::DirBuilder::new().mode(0o700).create(directory)?;
    Ok(directory.to_path_buf())
}

/// 128 random bits in hexadecimal.
fn secret() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
