//! Which pages of a private mapping are still the file's, and which were written to: the system knows, and tells.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

/// What the system says of a page, in 8 bytes. `FILE`: it is a file's, not a copy that was made when it was written.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const FILE: u64 = 1 << 61;
/// Pages that are asked for at once.
const BATCH: usize = 4096;

/// Of this process.
pub(crate) struct Pages(File);

impl Pages {
    /// None: the system does not tell, or not the truth.
    pub(crate) fn new() -> Option<Self> {
        let pages = Self(File::open("/proc/self/pagemap").ok()?);
        let own = std::hint::black_box([1_u8; 8]);
        (!pages.are_the_files(own.as_ptr_range())).then_some(pages)
    }

    /// Whether none of these bytes lies in a page that was written to.
    pub(crate) fn are_the_files(&self, bytes: Range<*const u8>) -> bool {
        let (first, end) = (bytes.start.addr() / size(), bytes.end.addr().div_ceil(size()));
        let mut about = vec![0; (end - first).min(BATCH) * 8];
        (first..end).step_by(BATCH).all(|page| {
            let about = &mut about[..(end - page).min(BATCH) * 8];
            self.0.read_exact_at(about, page as u64 * 8).is_ok()
                && about.as_chunks().0.iter().all(is_the_files)
        })
    }
}

/// Bytes of a page.
pub(crate) fn size() -> usize {
    static SIZE: LazyLock<usize> = LazyLock::new(|| {
        let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or(65_536)
    });
    *SIZE
}

/// One that nobody has looked at is in neither place.
fn is_the_files(about: &[u8; 8]) -> bool {
    let about = u64::from_ne_bytes(*about);
    about & (PRESENT | SWAPPED) == 0 || about & FILE != 0
}
