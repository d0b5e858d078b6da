package messagepack

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

const (
	// MaxBodyDepth is how many lists and maps may lie inside each other in a frame's body.
	MaxBodyDepth = 64
	// MaxDepth is how many may in a payload.
	MaxDepth = 512
)

// A Reader is a cursor over one value. It never trusts a length further than the bytes that are there.
type Reader struct {
	rest   []byte
	levels int
}

// NewReader reads a payload.
func NewReader(data []byte) *Reader { return &Reader{rest: data, levels: MaxDepth} }

// NewBodyReader reads the body of a frame.
func NewBodyReader(data []byte) *Reader { return &Reader{rest: data, levels: MaxBodyDepth} }

// Finish must be called when the value is read: nothing may follow it.
func (r *Reader) Finish() error {
	if len(r.rest) > 0 {
		return Faultf("%d bytes after the value", len(r.rest))
	}
	return nil
}

// Peek is the type of the next value, or Nothing where there is none.
func (r *Reader) Peek() Type {
	if len(r.rest) == 0 {
		return Nothing
	}
	return typeOf(r.rest[0])
}

// Nil takes a nil if one comes next.
func (r *Reader) Nil() bool {
	if len(r.rest) > 0 && r.rest[0] == leadNil {
		r.rest = r.rest[1:]
		return true
	}
	return false
}

// Bool reads a boolean.
func (r *Reader) Bool() (bool, error) {
	if r.Peek() != Bool {
		return false, r.wrong("a boolean")
	}
	return r.lead() == leadTrue, nil
}

// Uint reads an integer that fits so many bits without a sign.
func (r *Reader) Uint(bits int) (uint64, error) {
	value, negative, err := r.integer()
	if err != nil {
		return 0, err
	}
	if negative || bits < 64 && value>>bits != 0 {
		return 0, Faultf("an integer out of the range of %d bits without a sign", bits)
	}
	return value, nil
}

// Int reads an integer that fits so many bits with a sign.
func (r *Reader) Int(bits int) (int64, error) {
	value, negative, err := r.integer()
	if err != nil {
		return 0, err
	}
	number := int64(value)
	tooLarge := !negative && value > math.MaxInt64
	if tooLarge || bits < 64 && (number < -1<<(bits-1) || number >= 1<<(bits-1)) {
		return 0, Faultf("an integer out of the range of %d bits", bits)
	}
	return number, nil
}

// Float reads a float, or an integer where a float is declared.
func (r *Reader) Float() (float64, error) {
	switch r.Peek() {
	case Float:
		if r.lead() == leadFloat32 {
			bits, err := r.fixed(4)
			return float64(math.Float32frombits(uint32(bits))), err
		}
		bits, err := r.fixed(8)
		return math.Float64frombits(bits), err
	case Integer:
		value, negative, err := r.integer()
		if negative {
			return float64(int64(value)), err
		}
		return float64(value), err
	default:
		return 0, r.wrong("a number")
	}
}

// Text reads a string, as a view of its bytes.
func (r *Reader) Text() ([]byte, error) {
	text, err := r.rawText()
	if err == nil && !utf8.Valid(text) {
		return nil, Faultf("a string that is not UTF-8")
	}
	return text, err
}

// Bytes reads bytes, as a view of them.
func (r *Reader) Bytes() ([]byte, error) {
	if r.Peek() != Bytes {
		return nil, r.wrong("bytes")
	}
	length, err := r.fixed(1 << (r.lead() - leadBin8))
	if err != nil {
		return nil, err
	}
	return r.take(length)
}

// List enters a list and gives its length; Leave it after its items.
func (r *Reader) List() (int, error) {
	if r.Peek() != List {
		return 0, r.wrong("a list")
	}
	return r.enter(leadFixList, leadList16, 1)
}

// Map enters a map and gives the number of its keys; Leave it after its entries.
func (r *Reader) Map() (int, error) {
	if r.Peek() != Map {
		return 0, r.wrong("a map")
	}
	return r.enter(leadFixMap, leadMap16, 2)
}

// Leave leaves a list or map.
func (r *Reader) Leave() { r.levels++ }

// Key reads a key of a map.
func (r *Reader) Key() ([]byte, error) {
	if kind := r.Peek(); kind != String && kind != Nothing {
		return nil, Faultf("a key that is not a string but %s", kind)
	}
	return r.Text()
}

// enter reads the length of a list or map whose items have so many values each.
func (r *Reader) enter(fix, wide byte, values int) (int, error) {
	lead := r.lead()
	length := uint64(lead & 0x0f)
	if lead&0xf0 != fix {
		var err error
		if length, err = r.fixed(2 << (lead - wide)); err != nil {
			return 0, err
		}
	}
	if r.levels == 0 {
		return 0, Faultf("too many lists and maps inside each other")
	}
	// Every value takes a byte at least: a count beyond that is a lie, told before anything is allocated for it.
	if length*uint64(values) > uint64(len(r.rest)) {
		return 0, truncated()
	}
	r.levels--
	return int(length), nil
}

func (r *Reader) rawText() ([]byte, error) {
	if r.Peek() != String {
		return nil, r.wrong("a string")
	}
	lead := r.lead()
	if lead < leadNil {
		return r.take(uint64(lead & 0x1f))
	}
	length, err := r.fixed(1 << (lead - leadStr8))
	if err != nil {
		return nil, err
	}
	return r.take(length)
}

// integer reads an integer of any width; a negative one comes as the bits of an int64.
func (r *Reader) integer() (value uint64, negative bool, err error) {
	if r.Peek() != Integer {
		return 0, false, r.wrong("an integer")
	}
	lead := r.lead()
	switch {
	case lead < leadFixMap:
		return uint64(lead), false, nil
	case lead >= leadFixNegative:
		return uint64(int8(lead)), true, nil
	case lead < leadInt8:
		value, err = r.fixed(1 << (lead - leadUint8))
		return value, false, err
	}
	width := 1 << (lead - leadInt8)
	value, err = r.fixed(width)
	unused := 64 - 8*width
	value = uint64(int64(value<<unused) >> unused)
	return value, int64(value) < 0, err
}

// fixed reads so many bytes, 1 to 8, as a big-endian number.
func (r *Reader) fixed(width int) (uint64, error) {
	if len(r.rest) < width {
		return 0, truncated()
	}
	bytes := r.rest[:width]
	r.rest = r.rest[width:]
	switch width {
	case 1:
		return uint64(bytes[0]), nil
	case 2:
		return uint64(binary.BigEndian.Uint16(bytes)), nil
	case 4:
		return uint64(binary.BigEndian.Uint32(bytes)), nil
	default:
		return binary.BigEndian.Uint64(bytes), nil
	}
}

func (r *Reader) take(length uint64) ([]byte, error) {
	if length > uint64(len(r.rest)) {
		return nil, truncated()
	}
	taken := r.rest[:length:length]
	r.rest = r.rest[length:]
	return taken, nil
}

func (r *Reader) lead() byte {
	lead := r.rest[0]
	r.rest = r.rest[1:]
	return lead
}

func (r *Reader) wrong(expected string) error {
	if r.Peek() == Nothing {
		return truncated()
	}
	return Faultf("expected %s, found %s", expected, r.Peek())
}

func truncated() error { return Faultf("the value is cut short") }
