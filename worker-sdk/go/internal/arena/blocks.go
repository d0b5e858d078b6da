package arena

import (
	"math/bits"
	"slices"
)

// grain is the shortest block.
const grain = 16 << 10

// blocks knows which parts of an arena are free. Numbers only: it touches no memory. Blocks come in classes of length, four
// to each doubling, so that one that is free again serves the next result of about its length.
type blocks struct {
	// taken are the lengths of blocks that are in use, by their offset.
	taken map[uint64]uint64
	// kept are the offsets of blocks that are free again, by their length.
	kept map[uint64][]uint64
	// bare are parts that were never a block, or are none any more.
	bare []part
}

type part struct{ offset, length uint64 }

func newBlocks(size uint64) *blocks {
	made := &blocks{taken: map[uint64]uint64{}, kept: map[uint64][]uint64{}}
	if size >= grain {
		made.bare = []part{{0, size / grain * grain}}
	}
	return made
}

// take finds a block for so many bytes, if there is room.
func (b *blocks) take(size uint64) (offset uint64, found bool) {
	length := classOf(size)
	if kept := b.kept[length]; len(kept) > 0 {
		offset, found = kept[len(kept)-1], true
		b.kept[length] = kept[:len(kept)-1]
	} else {
		offset, found = b.takeBare(length)
	}
	if !found && b.join() {
		offset, found = b.takeBare(length)
	}
	if found {
		b.taken[offset] = length
	}
	return offset, found
}

// give takes a block back. An offset at which none is taken is ignored (R45).
func (b *blocks) give(offset uint64) {
	if length, taken := b.taken[offset]; taken {
		delete(b.taken, offset)
		b.kept[length] = append(b.kept[length], offset)
	}
}

func (b *blocks) takeBare(length uint64) (offset uint64, found bool) {
	for index := range b.bare {
		piece := &b.bare[index]
		if piece.length < length {
			continue
		}
		offset = piece.offset
		piece.offset += length
		piece.length -= length
		if piece.length == 0 {
			b.bare = slices.Delete(b.bare, index, index+1)
		}
		return offset, true
	}
	return 0, false
}

// join makes one part of free neighbours; it tells whether there were kept blocks to join.
func (b *blocks) join() bool {
	all := b.bare
	before := len(all)
	for length, offsets := range b.kept {
		for _, offset := range offsets {
			all = append(all, part{offset, length})
		}
	}
	b.kept = map[uint64][]uint64{}
	slices.SortFunc(all, func(one, other part) int {
		if one.offset < other.offset {
			return -1
		}
		return 1
	})
	var joined []part
	for _, piece := range all {
		if last := len(joined) - 1; last >= 0 && joined[last].offset+joined[last].length == piece.offset {
			joined[last].length += piece.length
		} else {
			joined = append(joined, piece)
		}
	}
	b.bare = joined
	return len(all) > before
}

// classOf is the length of a block for so many bytes: a fourth of a power of two at most above them.
func classOf(size uint64) uint64 {
	size = max(size, grain)
	step := max(uint64(1)<<bits.Len64(size-1)/8, grain)
	return (size + step - 1) / step * step
}
