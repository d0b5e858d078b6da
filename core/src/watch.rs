//! Watches the workers' code and has them reloaded when it changes.
//!
//! A branch switch touches thousands of files in a second: changes are gathered until it is quiet for a moment, and told at
//! once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use ganger_scheduler::Input as News;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, ErrorCode};
use crate::launch;
use crate::options::{PoolOptions, Watch as Watched};
use crate::shared::Shared;

/// So long nothing must change before a change is told.
const QUIET: Duration = Duration::from_millis(200);
/// But no longer than this after the first.
const LONGEST: Duration = Duration::from_secs(2);
/// More names than this tell nobody anything.
const MOST_FILES: usize = 100;

/// Watches as long as it exists.
#[derive(Debug)]
pub(crate) struct Watch {
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// Begins to watch what the options say, if they do.
    pub(crate) fn begin(shared: &Shared) -> Result<Option<Self>, Error> {
        let Some(path) = path(&shared.options)? else { return Ok(None) };
        let (sender, changes) = unbounded_channel();
        let file = path.is_file().then(|| path.clone());
        let heard = move |event: notify::Result<Event>| {
            // The receiver is gone once the pool is.
            event.into_iter().for_each(|event| drop(sender.send(event)));
        };
        let watch = || {
            let mut watcher = notify::recommended_watcher(heard)?;
            // Editors replace a file by another of its name: its folder is what sees that.
            let folder = if path.is_file() { path.parent().unwrap_or(Path::new(".")) } else { &path };
            let mode = if path.is_file() { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
            watcher.watch(folder, mode)?;
            Ok(watcher)
        };
        let watcher =
            watch().map_err(|error: notify::Error| invalid(&format!("{}: {error}", path.display())))?;
        shared.runtime.spawn(gather(shared.weak(), changes, file));
        Ok(Some(Self { _watcher: watcher }))
    }
}

fn path(options: &PoolOptions) -> Result<Option<PathBuf>, Error> {
    match &options.watch {
        None => Ok(None),
        Some(Watched::At(path)) if path.exists() => std::path::absolute(path)
            .map(Some)
            .map_err(|error| invalid(&format!("{}: {error}", path.display()))),
        Some(Watched::At(path)) => Err(invalid(&format!("there is no {}", path.display()))),
        Some(Watched::Target) => match launch::code(options) {
            Some(path) => Ok(Some(path)),
            None => Err(invalid("the worker is no file or folder; name one to watch")),
        },
    }
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorCode::InvalidOption, format!("cannot watch: {problem}")).with_detail("option", "watch")
}

async fn gather(pool: Weak<Shared>, mut changes: UnboundedReceiver<Event>, only: Option<PathBuf>) {
    while let Some(first) = changes.recv().await {
        let mut files = BTreeSet::new();
        note(&mut files, first, only.as_deref());
        if files.is_empty() {
            continue;
        }
        let last_moment = Instant::now() + LONGEST;
        while let Ok(Some(next)) = timeout_at(last_moment.min(Instant::now() + QUIET), changes.recv()).await {
            note(&mut files, next, only.as_deref());
        }
        let Some(shared) = pool.upgrade() else { return };
        shared.reload(files.iter().take(MOST_FILES).map(|path| path.display().to_string()).collect());
    }
}

/// What only looks, and what languages write beside the code, changes nothing.
fn note(files: &mut BTreeSet<PathBuf>, event: Event, only: Option<&Path>) {
    match event.kind {
        EventKind::Access(_) => {}
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => {
            files.extend(event.paths.into_iter().filter(|path| match only {
                Some(file) => path == file,
                None => !path.components().any(|part| is_by_product(part.as_os_str().as_encoded_bytes())),
            }));
        }
    }
}

fn is_by_product(name: &[u8]) -> bool {
    name == b"__pycache__"
        || name == b"node_modules"
        || name.starts_with(b".") && name.len() > 2
        || name.ends_with(b"~")
}

impl Shared {
    /// Has every worker replaced, for these files.
    pub(crate) fn reload(&self, files: Vec<String>) {
        self.step(|books, now, aftermath| {
            books.changed_files = files;
            books.tell(now, News::Reload, aftermath);
            books.changed_files = Vec::new();
        });
    }
}
