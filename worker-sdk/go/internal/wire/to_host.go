package wire

import "ganger.dev/worker/internal/messagepack"

// Language names this one to hosts.
const Language = "go"

// Codes of errors (chapter 6).
const (
	CallFailed      = "CALL_FAILED"
	NoSuchFunction  = "NO_SUCH_FUNCTION"
	InvalidInput    = "INVALID_INPUT"
	InvalidResult   = "INVALID_RESULT"
	PayloadTooLarge = "PAYLOAD_TOO_LARGE"
	Cancelled       = "CANCELLED"
	StartFailed     = "START_FAILED"
)

// AttachBody is what ATTACH says.
type AttachBody struct {
	Token   string `json:"token" ganger:"optional"`
	Lane    string `json:"lane" ganger:"optional"`
	Session string `json:"session" ganger:"optional"`
}

// HelloBody is what HELLO says.
type HelloBody struct {
	MinVersion   uint16 `json:"min_version" ganger:"optional"`
	MaxVersion   uint16 `json:"max_version" ganger:"optional"`
	SDK          string `json:"sdk" ganger:"optional"`
	SDKVersion   string `json:"sdk_version" ganger:"optional"`
	Language     string `json:"language" ganger:"optional"`
	PID          uint64 `json:"pid" ganger:"optional"`
	SharedMemory bool   `json:"shared_memory" ganger:"optional"`
	Ahead        bool   `json:"ahead" ganger:"optional"`
}

// ReadyBody is what READY says.
type ReadyBody struct {
	Functions []Contract `json:"functions" ganger:"optional"`
}

// A Contract describes a function (chapter 8).
type Contract struct {
	Name        string         `json:"name" ganger:"optional"`
	Kind        string         `json:"kind" ganger:"default=value,enum=value|stream"`
	Summary     *string        `json:"summary"`
	Idempotent  bool           `json:"idempotent" ganger:"optional"`
	Slots       uint32         `json:"slots" ganger:"default=1"`
	Weight      uint8          `json:"weight" ganger:"default=1,min=1,max=100"`
	Coefficient float64        `json:"coefficient" ganger:"default=1"`
	Exclusive   *string        `json:"exclusive"`
	TimeoutMS   *uint64        `json:"timeout_ms"`
	Batch       *Batch         `json:"batch"`
	Input       map[string]any `json:"input,omitempty"`
	Output      map[string]any `json:"output,omitempty"`
	// Inputs describes an item of the input stream, if there is one; an empty map: it may be anything.
	Inputs *map[string]any `json:"inputs"`
}

// Batch is how calls of a function may be gathered.
type Batch struct {
	Max    uint32 `json:"max" ganger:"optional"`
	WaitMS uint64 `json:"wait_ms" ganger:"optional"`
}

// A Report is what ERROR says; its causes have no code.
type Report struct {
	Code       string         `json:"code,omitempty"`
	Type       string         `json:"type" ganger:"optional"`
	Message    string         `json:"message" ganger:"optional"`
	Traceback  *string        `json:"traceback"`
	Language   string         `json:"language" ganger:"optional"`
	Properties map[string]any `json:"properties,omitempty"`
	Dropped    []string       `json:"dropped,omitempty"`
	Cause      *Report        `json:"cause"`
	Path       *string        `json:"path"`
}

// NewReport is a report that no error of the user's stands behind.
func NewReport(code, message string) *Report {
	return &Report{Code: code, Type: code, Message: message, Language: Language}
}

// ProgressBody writes the body of PROGRESS; a total of nil is not known, nor is a note that is empty.
func ProgressBody(done float64, total *float64, note string) []byte {
	body := messagepack.AppendFloat(messagepack.AppendList(nil, 3), done)
	if total == nil {
		body = messagepack.AppendNil(body)
	} else {
		body = messagepack.AppendFloat(body, *total)
	}
	if note == "" {
		return messagepack.AppendNil(body)
	}
	return messagepack.AppendText(body, note)
}

// LogBody writes the body of LOG. Fields must be values that can be written.
func LogBody(level, logger, message string, fields map[string]any) []byte {
	body := messagepack.AppendList(nil, 4)
	for _, text := range []string{level, logger, message} {
		body = messagepack.AppendText(body, text)
	}
	if len(fields) == 0 {
		return messagepack.AppendNil(body)
	}
	return append(body, messagepack.AppendBody(nil, fields)...)
}

// CreditFrame gives the host room for more input items.
func CreditFrame(seq uint64, items uint32, bytes uint64) Frame {
	body := messagepack.AppendUint(messagepack.AppendList(nil, 2), uint64(items))
	return Frame{Kind: Credit, Seq: seq, Body: messagepack.AppendUint(body, bytes)}
}

// ReleaseFrame gives a block back that came with an item of a call's input stream.
func ReleaseFrame(seq uint64, offset uint64) Frame {
	return Frame{Kind: Release, Seq: seq, Body: messagepack.AppendUint(messagepack.AppendList(nil, 1), offset)}
}
