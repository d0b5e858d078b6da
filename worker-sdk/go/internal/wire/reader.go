package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"slices"
	"sync/atomic"
)

const readBuffer = 64 << 10

// A Reader reads frames from a lane. Only its limit may be touched by others meanwhile.
type Reader struct {
	in         *bufio.Reader
	maxPayload atomic.Uint64
	head       [headerLength]byte
}

// NewReader reads with the limit that holds before WELCOME.
func NewReader(lane io.Reader) *Reader {
	reader := &Reader{in: bufio.NewReaderSize(lane, readBuffer)}
	reader.maxPayload.Store(DefaultMaxPayload)
	return reader
}

// Limit sets how many bytes a payload may have.
func (r *Reader) Limit(maxPayload uint64) { r.maxPayload.Store(maxPayload) }

// Next gives the next frame of a known kind. After a *TooLarge reading goes on with the next one.
func (r *Reader) Next() (Frame, error) {
	for {
		if _, err := io.ReadFull(r.in, r.head[:]); err != nil {
			return Frame{}, err
		}
		length, body := binary.LittleEndian.Uint64(r.head[:]), binary.LittleEndian.Uint32(r.head[8:])
		frame := Frame{
			Kind: Kind(r.head[12]), Flags: Flags(r.head[13]), Seq: binary.LittleEndian.Uint64(r.head[16:]),
		}
		if err := r.check(&frame, length, body); err != nil {
			return Frame{}, err
		}
		if frame.Kind.IsKnown() {
			return frame, r.read(&frame, length, body)
		}
		if err := r.skip(length); err != nil {
			return Frame{}, err
		}
	}
}

// check holds a header to the limits (R4, R6, R40).
func (r *Reader) check(frame *Frame, length uint64, body uint32) error {
	switch {
	case uint64(body) > length:
		return violationf("a body of %d bytes in a frame of %d", body, length)
	case !frame.Kind.IsKnown() && frame.Flags&Critical != 0:
		return violationf("a critical frame of the unknown kind %d", frame.Kind)
	case frame.Kind.IsKnown() && body > MaxBody:
		return violationf("a body of %d bytes", body)
	}
	return nil
}

func (r *Reader) read(frame *Frame, length uint64, body uint32) error {
	payload, limit := length-uint64(body), r.maxPayload.Load()
	own := uint64(0)
	if frame.Flags&More != 0 {
		own = min(totalLength, payload) // the total, which a first piece carries beside its bytes
	}
	if payload-own > limit {
		if err := r.skip(length); err != nil {
			return err
		}
		return &TooLarge{Kind: frame.Kind, Seq: frame.Seq, Length: payload, Limit: limit}
	}
	bytes, err := r.take(length)
	if err != nil {
		return err
	}
	frame.Body, frame.Payload = bytes[:body:body], bytes[body:]
	return nil
}

// believed is how long a frame may say it is and get the room for it before it has come.
const believed = 16 << 20

// take reads so many bytes. A longer frame gets more room as it comes.
func (r *Reader) take(length uint64) ([]byte, error) {
	bytes := make([]byte, min(length, believed))
	_, err := io.ReadFull(r.in, bytes)
	for err == nil && uint64(len(bytes)) < length {
		have := len(bytes)
		more := int(min(length-uint64(have), uint64(have)))
		bytes = slices.Grow(bytes, more)[:have+more]
		_, err = io.ReadFull(r.in, bytes[have:])
	}
	return bytes, err
}

func (r *Reader) skip(length uint64) error {
	for length > 0 {
		step := min(length, 1<<30)
		if _, err := io.CopyN(io.Discard, r.in, int64(step)); err != nil {
			return err
		}
		length -= step
	}
	return nil
}
