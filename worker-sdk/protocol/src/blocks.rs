//! Which parts of an arena are free, for whoever hands out its blocks (R45). Numbers only: it touches no memory.
//!
//! Blocks come in classes of length, four to each doubling, so that a freed block serves the next payload of about its length. A
//! freed block is first *kept*: its memory stays with it. The longest kept lose theirs when too much is.

use std::collections::{BTreeMap, VecDeque};

/// Blocks begin at multiples of this; so do their lengths.
const GRAIN: u64 = 16 * 1024;

/// A part of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins.
    pub offset: u64,
    /// As reserved: that of a class.
    pub length: u64,
    /// How many of its bytes, from the start, have memory behind them.
    pub backed: u64,
}

/// The free and the taken parts of an arena.
#[derive(Debug)]
pub struct Blocks {
    /// Free and without memory: offset and length, neighbours joined.
    bare: BTreeMap<u64, u64>,
    /// Free with memory, in the order in which they became free.
    kept: VecDeque<Extent>,
    kept_bytes: u64,
    /// The most bytes that are kept.
    keep: u64,
    used_bytes: u64,
}

impl Blocks {
    /// All of an arena free and without memory. Blocks that are free again keep so many bytes of memory at most.
    #[must_use]
    pub fn new(size: u64, keep: u64) -> Self {
        let size = size / GRAIN * GRAIN;
        let bare = if size == 0 { BTreeMap::new() } else { BTreeMap::from([(0, size)]) };
        Self { bare, kept: VecDeque::new(), kept_bytes: 0, keep, used_bytes: 0 }
    }

    /// Bytes in blocks that are taken.
    #[must_use]
    pub const fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Takes a block for so many bytes: the one that became free last, or a new one. None: there is no room.
    pub fn take(&mut self, bytes: u64) -> Option<Extent> {
        let length = class(bytes)?;
        let extent = self.take_kept(length).or_else(|| self.take_bare(length))?;
        self.used_bytes += length;
        Some(extent)
    }

    /// Gives a block back. What is returned has to lose its memory, and then to come back through [`Blocks::strip`].
    #[must_use]
    pub fn give(&mut self, extent: Extent) -> Vec<Extent> {
        self.used_bytes -= extent.length;
        self.kept_bytes += extent.backed;
        self.kept.push_back(extent);
        let mut surplus = Vec::new();
        while self.kept_bytes > self.keep {
            surplus.extend(self.drop_oldest());
        }
        surplus
    }

    /// All that is kept, when there is no room otherwise; as from [`Blocks::give`].
    #[must_use]
    pub fn drop_kept(&mut self) -> Vec<Extent> {
        std::iter::from_fn(|| self.drop_oldest()).collect()
    }

    /// A block that has no memory any more.
    pub fn strip(&mut self, extent: Extent) {
        let (mut offset, mut length) = (extent.offset, extent.length);
        if let Some((&before, &its_length)) = self.bare.range(..offset).next_back()
            && before + its_length == offset
        {
            offset = before;
            length += its_length;
        }
        if let Some(next) = self.bare.remove(&(offset + length)) {
            length += next;
        }
        self.bare.insert(offset, length);
    }

    fn drop_oldest(&mut self) -> Option<Extent> {
        let extent = self.kept.pop_front()?;
        self.kept_bytes -= extent.backed;
        Some(extent)
    }

    fn take_kept(&mut self, length: u64) -> Option<Extent> {
        let at = self.kept.iter().rposition(|extent| extent.length == length)?;
        let extent = self.kept.remove(at)?;
        self.kept_bytes -= extent.backed;
        Some(extent)
    }

    /// The first that is long enough: low addresses stay in use, the far end stays without memory.
    fn take_bare(&mut self, length: u64) -> Option<Extent> {
        let (&offset, &found) = self.bare.iter().find(|(_, found)| **found >= length)?;
        self.bare.remove(&offset);
        if found > length {
            self.bare.insert(offset + length, found - length);
        }
        Some(Extent { offset, length, backed: 0 })
    }
}

/// The length of a block for so many bytes: a fourth of a power of two at most above them.
fn class(bytes: u64) -> Option<u64> {
    let bytes = bytes.max(GRAIN);
    let step = (bytes.checked_next_power_of_two()? / 8).max(GRAIN);
    bytes.checked_next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    #[test]
    fn classes_waste_a_fourth_at_most() {
        for bytes in [1, 16 * KIB, 16 * KIB + 1, 130_000, 300_000, 1 << 20, (1 << 26) + 1, 1 << 40] {
            let length = class(bytes).unwrap();
            assert!(length >= bytes && length.is_multiple_of(GRAIN), "{bytes} gives {length}");
            assert!(length <= bytes + bytes / 4 + GRAIN, "{bytes} gives {length}");
        }
        assert_eq!(class(1 << 26), Some(1 << 26));
        assert_eq!(class(u64::MAX), None);
    }

    #[test]
    fn the_block_that_became_free_last_is_taken_with_its_memory() {
        let mut blocks = Blocks::new(1 << 20, 1 << 20);
        let (first, second) = (blocks.take(100_000).unwrap(), blocks.take(100_000).unwrap());
        assert_ne!(first.offset, second.offset);
        assert!(blocks.give(Extent { backed: 100_000, ..first }).is_empty());
        assert!(blocks.give(Extent { backed: 90_000, ..second }).is_empty());
        assert_eq!(blocks.take(99_000), Some(Extent { backed: 90_000, ..second }));
        assert_eq!(blocks.take(99_000), Some(Extent { backed: 100_000, ..first }));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let mut blocks = Blocks::new(1 << 30, 250_000);
        let taken: Vec<Extent> = (0..4).map(|_| blocks.take(100_000).unwrap()).collect();
        let surplus: Vec<Extent> =
            taken.iter().flat_map(|extent| blocks.give(Extent { backed: 100_000, ..*extent })).collect();
        let offsets = |extents: &[Extent]| extents.iter().map(|extent| extent.offset).collect::<Vec<_>>();
        assert_eq!(offsets(&surplus), offsets(&taken[..2]));
    }

    #[test]
    fn neighbours_join_again_and_all_of_it_can_be_taken() {
        let size = 8 << 20;
        let mut blocks = Blocks::new(size, 0);
        let taken: Vec<Extent> = std::iter::from_fn(|| blocks.take(300_000)).collect();
        assert!(taken.len() as u64 > size / 400_000 && blocks.take(300_000).is_none());
        for extent in taken.into_iter().step_by(1).rev() {
            blocks.give(Extent { backed: 1, ..extent }).into_iter().for_each(|extent| blocks.strip(extent));
        }
        assert_eq!(blocks.used_bytes(), 0);
        assert_eq!(blocks.take(size), Some(Extent { offset: 0, length: size, backed: 0 }));
    }

    #[test]
    fn no_two_blocks_overlap_whatever_the_order() {
        let mut blocks = Blocks::new(64 << 20, 4 << 20);
        let mut held: Vec<Extent> = Vec::new();
        let mut random = 1_u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = random >> 33;
            if draw % 5 < 3 {
                let bytes = 1 << (10 + draw / 5 % 13);
                if let Some(extent) = blocks.take(bytes) {
                    let apart = |other: &Extent| {
                        other.offset + other.length <= extent.offset
                            || extent.offset + extent.length <= other.offset
                    };
                    assert!(held.iter().all(apart) && extent.offset + extent.length <= 64 << 20);
                    held.push(Extent { backed: bytes.max(extent.backed), ..extent });
                }
            } else if !held.is_empty() {
                let extent = held.swap_remove(usize::try_from(draw / 5).unwrap() % held.len());
                blocks.give(extent).into_iter().for_each(|extent| blocks.strip(extent));
            }
            assert_eq!(blocks.used_bytes(), held.iter().map(|extent| extent.length).sum::<u64>());
        }
    }
}
