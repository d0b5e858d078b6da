package arena

import (
	"math/rand/v2"
	"testing"
)

func TestAClassWastesAFourthAtMost(t *testing.T) {
	for _, size := range []uint64{grain, grain + 1, 128 << 10, 128<<10 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 5 << 30} {
		length := classOf(size)
		if length < size || length%grain != 0 || size > 8*grain && length > size+size/4 {
			t.Errorf("%d for %d", length, size)
		}
	}
}

func TestNoTwoBlocksOverlapWhateverTheOrder(t *testing.T) {
	const size = 16 << 20
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		arena, mine := newBlocks(size), map[uint64]uint64{}
		for range 2000 {
			if random.IntN(3) > 0 {
				wanted := random.Uint64N(2 << 20)
				offset, found := arena.take(wanted)
				if !found {
					continue
				}
				for other, length := range mine {
					if offset < other+length && other < offset+wanted {
						t.Fatalf("seed %d: %d+%d lies in %d+%d", seed, offset, wanted, other, length)
					}
				}
				if offset+classOf(wanted) > size {
					t.Fatalf("seed %d: %d+%d is beyond the arena", seed, offset, wanted)
				}
				mine[offset] = wanted
			} else {
				for offset := range mine {
					arena.give(offset)
					arena.give(offset) // which means nothing
					delete(mine, offset)
					break
				}
			}
		}
		for offset := range mine {
			arena.give(offset)
		}
		if offset, found := arena.take(size * 7 / 8); !found || offset != 0 {
			t.Fatalf("seed %d: an arena that is free again has no room", seed)
		}
	}
}

func TestAnArenaThatIsTooSmallHasNoBlocks(t *testing.T) {
	if _, found := newBlocks(grain - 1).take(1); found {
		t.Fatal("there is none")
	}
}
