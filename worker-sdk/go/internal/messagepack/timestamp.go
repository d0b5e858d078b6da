package messagepack

import (
	"encoding/binary"
	"time"
)

const (
	timestampNumber = -1
	timestampLead   = 0xff
	nanosecondsEnd  = 1_000_000_000
)

// Time reads a timestamp.
func (r *Reader) Time() (time.Time, error) {
	if r.Peek() != Extension {
		return time.Time{}, r.wrong("a timestamp")
	}
	number, data, err := r.extension()
	if err != nil {
		return time.Time{}, err
	}
	if number != timestampNumber {
		return time.Time{}, Faultf("the extension type %d is unknown", number)
	}
	var seconds int64
	var nanoseconds uint32
	switch len(data) {
	case 4:
		seconds = int64(binary.BigEndian.Uint32(data))
	case 8:
		both := binary.BigEndian.Uint64(data)
		seconds, nanoseconds = int64(both&(1<<34-1)), uint32(both>>34)
	case 12:
		seconds, nanoseconds = int64(binary.BigEndian.Uint64(data[4:])), binary.BigEndian.Uint32(data)
	default:
		return time.Time{}, Faultf("a timestamp of %d bytes", len(data))
	}
	if nanoseconds >= nanosecondsEnd {
		return time.Time{}, Faultf("a timestamp with %d nanoseconds", nanoseconds)
	}
	return time.Unix(seconds, int64(nanoseconds)).UTC(), nil
}

// AppendTime writes a timestamp in its shortest form.
func AppendTime(to []byte, moment time.Time) []byte {
	seconds, nanoseconds := moment.Unix(), uint32(moment.Nanosecond())
	switch {
	case seconds>>34 != 0:
		to = append(to, leadExt8, 12, timestampLead)
		to = binary.BigEndian.AppendUint32(to, nanoseconds)
		return binary.BigEndian.AppendUint64(to, uint64(seconds))
	case nanoseconds != 0 || seconds>>32 != 0:
		to = append(to, leadFixExt1+3, timestampLead)
		return binary.BigEndian.AppendUint64(to, uint64(nanoseconds)<<34|uint64(seconds))
	default:
		to = append(to, leadFixExt1+2, timestampLead)
		return binary.BigEndian.AppendUint32(to, uint32(seconds))
	}
}
