package messagepack

import (
	"encoding/binary"
	"math"
)

// AppendNil writes nil.
func AppendNil(to []byte) []byte { return append(to, leadNil) }

// AppendBool writes a boolean.
func AppendBool(to []byte, value bool) []byte {
	if value {
		return append(to, leadTrue)
	}
	return append(to, leadFalse)
}

// AppendInt writes an integer in its shortest form.
func AppendInt(to []byte, value int64) []byte {
	switch {
	case value >= 0:
		return AppendUint(to, uint64(value))
	case value >= -32:
		return append(to, byte(value))
	case value >= math.MinInt8:
		return append(to, leadInt8, byte(value))
	case value >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(to, leadInt8+1), uint16(value))
	case value >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(to, leadInt8+2), uint32(value))
	default:
		return binary.BigEndian.AppendUint64(append(to, leadInt8+3), uint64(value))
	}
}

// AppendUint writes an integer in its shortest form.
func AppendUint(to []byte, value uint64) []byte {
	switch {
	case value < leadFixMap:
		return append(to, byte(value))
	case value <= math.MaxUint8:
		return append(to, leadUint8, byte(value))
	case value <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(to, leadUint8+1), uint16(value))
	case value <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(to, leadUint8+2), uint32(value))
	default:
		return binary.BigEndian.AppendUint64(append(to, leadUint8+3), value)
	}
}

// notANumber is the one that all languages write; Go's own has another bit.
const notANumber = 0x7ff8000000000000

// AppendFloat writes a float.
func AppendFloat(to []byte, value float64) []byte {
	bits := math.Float64bits(value)
	if math.IsNaN(value) {
		bits = notANumber
	}
	return binary.BigEndian.AppendUint64(append(to, leadFloat64), bits)
}

// AppendText writes a string, which must be UTF-8.
func AppendText(to []byte, text string) []byte {
	if len(text) < 32 {
		return append(append(to, leadFixText|byte(len(text))), text...)
	}
	return append(appendLength(to, leadStr8, len(text)), text...)
}

// AppendBytes writes bytes.
func AppendBytes(to []byte, data []byte) []byte {
	return append(appendLength(to, leadBin8, len(data)), data...)
}

// AppendList begins a list of so many items.
func AppendList(to []byte, length int) []byte {
	return appendCount(to, leadFixList, leadList16, length)
}

// AppendMap begins a map of so many keys, each of them followed by its value.
func AppendMap(to []byte, length int) []byte { return appendCount(to, leadFixMap, leadMap16, length) }

func appendLength(to []byte, lead byte, length int) []byte {
	switch {
	case length <= math.MaxUint8:
		return append(to, lead, byte(length))
	case length <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(to, lead+1), uint16(length))
	default:
		return binary.BigEndian.AppendUint32(append(to, lead+2), uint32(length))
	}
}

func appendCount(to []byte, fix, wide byte, length int) []byte {
	switch {
	case length < 16:
		return append(to, fix|byte(length))
	case length <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(to, wide), uint16(length))
	default:
		return binary.BigEndian.AppendUint32(append(to, wide+1), uint32(length))
	}
}
