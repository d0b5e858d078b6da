package wire

import "encoding/binary"

// Arenas that a reference may name.
const (
	InputArena  uint64 = 0
	ResultArena uint64 = 1
)

const referenceLength = 24

// A Reference says where in shared memory a payload lies (R43).
type Reference struct{ Arena, Offset, Length uint64 }

// ReadReference reads the payload of a frame with Shared.
func ReadReference(payload []byte) (*Reference, error) {
	if len(payload) != referenceLength {
		return nil, violationf("a reference of %d bytes to shared memory", len(payload))
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(payload[at:]) }
	return &Reference{Arena: number(0), Offset: number(8), Length: number(16)}, nil
}

// Append writes a reference as a payload.
func (r *Reference) Append(to []byte) []byte {
	for _, number := range []uint64{r.Arena, r.Offset, r.Length} {
		to = binary.LittleEndian.AppendUint64(to, number)
	}
	return to
}

// IsWithin tells whether it lies in an arena of a size.
func (r *Reference) IsWithin(arena, size uint64) bool {
	return r.Arena == arena && r.Offset <= size && r.Length <= size-r.Offset
}
