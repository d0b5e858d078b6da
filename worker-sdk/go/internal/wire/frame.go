package wire

import (
	"encoding/binary"
	"fmt"
)

const (
	headerLength = 24
	// MaxBody is how long a body may be (R6).
	MaxBody = 16 << 20
	// DefaultMaxPayload holds until WELCOME says otherwise.
	DefaultMaxPayload = 4 << 30
	// totalLength is what a first chunk says before its bytes: the sum of them all.
	totalLength = 8
)

// A Frame is a message on a lane.
type Frame struct {
	Kind    Kind
	Flags   Flags
	Seq     uint64
	Body    []byte
	Payload []byte
}

// AppendHead writes all of a frame that goes before its payload.
func (f *Frame) AppendHead(to []byte) []byte {
	to = appendHeader(to, f.Kind, f.Flags, f.Seq, len(f.Body), len(f.Payload))
	return append(to, f.Body...)
}

// AppendPiece writes what goes before one piece of a payload that is sent in pieces; it begins with offset 0.
func (f *Frame) AppendPiece(to []byte, offset, length int) []byte {
	flags := f.Flags
	if offset+length < len(f.Payload) {
		flags |= More
	}
	if offset > 0 {
		return appendHeader(to, Chunk, flags&More, f.Seq, 0, length)
	}
	to = appendHeader(to, f.Kind, flags, f.Seq, len(f.Body), totalLength+length)
	to = append(to, f.Body...)
	return binary.LittleEndian.AppendUint64(to, uint64(len(f.Payload)))
}

func appendHeader(to []byte, kind Kind, flags Flags, seq uint64, body, payload int) []byte {
	to = binary.LittleEndian.AppendUint64(to, uint64(body)+uint64(payload))
	to = binary.LittleEndian.AppendUint32(to, uint32(body))
	to = append(to, byte(kind), byte(flags), 0, 0)
	return binary.LittleEndian.AppendUint64(to, seq)
}

// A Violation is what the host did against the protocol; the worker says so and exits with ViolationExit (chapter 9).
type Violation string

// ViolationExit is the exit code of a worker that saw one.
const ViolationExit = 70

func (v Violation) Error() string { return string(v) }

func violationf(format string, arguments ...any) error {
	return Violation(fmt.Sprintf(format, arguments...))
}

// TooLarge is a payload beyond the limit: it fails its call, not the link (R6).
type TooLarge struct {
	Kind          Kind
	Seq           uint64
	Length, Limit uint64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the input has %d bytes, the limit is %d", e.Length, e.Limit)
}
