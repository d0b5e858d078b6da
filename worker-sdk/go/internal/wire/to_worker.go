package wire

import (
	"slices"

	"ganger.dev/worker/internal/messagepack"
)

// CallBody is what CALL says.
type CallBody struct {
	Function  string
	Attempt   uint32
	TimeoutMS *uint64
	// Arguments says that the payload is a list of two, positional and named arguments; else it is one value.
	Arguments bool
	Context   map[string]string
	// Batch is what it came with, nil if it came alone.
	Batch *InBatch
}

// InBatch is the batch that a call is a part of (R57).
type InBatch struct {
	First uint64
	Count uint32
}

// StopBody is what STOP says.
type StopBody struct {
	Reason    string `json:"reason" ganger:"optional"`
	TimeoutMS uint64 `json:"timeout_ms" ganger:"default=5000"`
}

// WelcomeBody is what WELCOME says.
type WelcomeBody struct {
	Version       uint16        `json:"version" ganger:"optional"`
	Pool          string        `json:"pool" ganger:"optional"`
	Worker        uint32        `json:"worker" ganger:"optional"`
	Generation    uint32        `json:"generation" ganger:"optional"`
	Concurrency   uint32        `json:"concurrency" ganger:"default=1"`
	MaxPayload    uint64        `json:"max_payload" ganger:"default=4294967296"`
	CancelGraceMS uint64        `json:"cancel_grace_ms" ganger:"default=2000"`
	StopTimeoutMS uint64        `json:"stop_timeout_ms" ganger:"default=5000"`
	Device        *string       `json:"device"`
	SharedMemory  *SharedMemory `json:"shared_memory,omitempty"`
	// ClaimsFD is where calls are claimed that are handed over ahead (R60).
	ClaimsFD *uint32 `json:"claims_fd,omitempty"`
}

// SharedMemory is where the arenas are (R42).
type SharedMemory struct {
	InputFD    uint32 `json:"input_fd" ganger:"optional"`
	ResultFD   uint32 `json:"result_fd" ganger:"optional"`
	InputSize  uint64 `json:"input_size" ganger:"optional"`
	ResultSize uint64 `json:"result_size" ganger:"optional"`
	Threshold  uint64 `json:"threshold" ganger:"optional"`
}

// CreditBody is what CREDIT says.
type CreditBody struct {
	Items uint32
	Bytes uint64
}

// ReadCall reads the body of CALL.
func ReadCall(body []byte) (CallBody, error) {
	call := CallBody{Attempt: 1}
	err := readList(Call, body, func(reader *messagepack.Reader, field int) (err error) {
		switch field {
		case 0:
			call.Function, err = text(reader)
		case 1:
			var attempt uint64
			attempt, err = reader.Uint(32)
			call.Attempt = uint32(attempt)
		case 2:
			if !reader.Nil() {
				call.TimeoutMS = new(uint64)
				*call.TimeoutMS, err = reader.Uint(64)
			}
		case 3:
			var shape uint64
			shape, err = reader.Uint(1)
			call.Arguments = shape == 1
		case 4:
			if !reader.Nil() {
				call.Context, err = texts(reader)
			}
		case 5:
			if !reader.Nil() {
				call.Batch = new(InBatch)
				err = readInBatch(reader, call.Batch)
			}
		default:
			err = reader.Skip()
		}
		return err
	})
	return call, err
}

func readInBatch(reader *messagepack.Reader, batch *InBatch) error {
	length, err := reader.List()
	for field := 0; err == nil && field < length; field++ {
		switch field {
		case 0:
			batch.First, err = reader.Uint(64)
		case 1:
			var count uint64
			count, err = reader.Uint(32)
			batch.Count = uint32(count)
		default:
			err = reader.Skip()
		}
	}
	reader.Leave()
	return err
}

// ReadCancel reads the body of CANCEL: the reason.
func ReadCancel(body []byte) (string, error) {
	reason := "cancel"
	err := readList(Cancel, body, func(reader *messagepack.Reader, field int) (err error) {
		if field > 0 {
			return reader.Skip()
		}
		reason, err = text(reader)
		return err
	})
	if !slices.Contains([]string{"timeout", "deadline", "stop"}, reason) {
		reason = "cancel"
	}
	return reason, err
}

// ReadCredit reads the body of CREDIT.
func ReadCredit(body []byte) (credit CreditBody, err error) {
	err = readList(Credit, body, func(reader *messagepack.Reader, field int) (err error) {
		switch field {
		case 0:
			var items uint64
			items, err = reader.Uint(32)
			credit.Items = uint32(items)
		case 1:
			credit.Bytes, err = reader.Uint(64)
		default:
			err = reader.Skip()
		}
		return err
	})
	return credit, err
}

// ReadRelease reads the body of RELEASE: offsets of blocks.
func ReadRelease(body []byte) (offsets []uint64, err error) {
	err = readList(Release, body, func(reader *messagepack.Reader, _ int) error {
		offset, err := reader.Uint(64)
		offsets = append(offsets, offset)
		return err
	})
	return offsets, err
}

// ReadStop reads the body of STOP.
func ReadStop(body []byte) (StopBody, error) {
	stop := StopBody{TimeoutMS: 5000}
	err := readMap(Stop, body, &stop)
	return stop, err
}

// ReadWelcome reads the body of WELCOME.
func ReadWelcome(body []byte) (WelcomeBody, error) {
	welcome := WelcomeBody{
		Concurrency: 1, MaxPayload: DefaultMaxPayload, CancelGraceMS: 2000, StopTimeoutMS: 5000,
	}
	err := readMap(Welcome, body, &welcome)
	return welcome, err
}

func readMap(kind Kind, body []byte, into any) error {
	if len(body) == 0 {
		return nil
	}
	return malformed(kind, messagepack.DecodeBody(body, into))
}

// readList reads a body that is a list, field by field; it may be shorter or longer than this version's.
func readList(kind Kind, body []byte, read func(reader *messagepack.Reader, field int) error) error {
	if len(body) == 0 {
		return nil
	}
	reader := messagepack.NewBodyReader(body)
	length, err := reader.List()
	for field := 0; err == nil && field < length; field++ {
		err = read(reader, field)
	}
	if err == nil {
		err = reader.Finish()
	}
	return malformed(kind, err)
}

func malformed(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	return violationf("the body of a %s: %v", kind, err)
}

func text(reader *messagepack.Reader) (string, error) {
	bytes, err := reader.Text()
	return string(bytes), err
}

func texts(reader *messagepack.Reader) (map[string]string, error) {
	length, err := reader.Map()
	if err != nil {
		return nil, err
	}
	found := make(map[string]string, length)
	for range length {
		key, err := reader.Key()
		if err != nil {
			return nil, err
		}
		if found[string(key)], err = text(reader); err != nil {
			return nil, err
		}
	}
	reader.Leave()
	return found, nil
}
