package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/notation"
	"ganger.dev/worker/internal/wire"
)

type meaning struct {
	Kind       string
	Seq        any
	Flags      []string
	Encoding   string
	Body       map[string]any
	PayloadHex string `json:"payload_hex"`
}

type vector struct {
	Name, Lane, Direction, Hex, Error string
	Frames                            []meaning
	Violation                         bool
	MaxPayload                        uint64 `json:"max_payload"`
	Seq                               uint64
}

var encodings = map[string]wire.Encoding{
	"messagepack": wire.MessagePack, "raw": wire.Raw, "pickle5": wire.Pickle, "unknown": 0x30,
}

// readers are the same bytes, whole and byte by byte.
func readers(data []byte) map[string]io.Reader {
	return map[string]io.Reader{
		"whole": bytes.NewReader(data), "byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
	}
}

// readAll gives whole frames up to the end of file, and what failed but let reading go on.
func readAll(in io.Reader, maxPayload uint64) (frames []wire.Frame, tooLarge *wire.TooLarge, err error) {
	reader, chunks := wire.NewReader(in), wire.Chunks{}
	reader.Limit(maxPayload)
	for {
		frame, err := reader.Next()
		var whole *wire.Frame
		if err == nil {
			whole, err = chunks.Take(frame, maxPayload)
		}
		switch {
		case errors.Is(err, io.EOF):
			return frames, tooLarge, nil
		case errors.As(err, &tooLarge):
			chunks.Ignore(tooLarge.Seq)
		case err != nil:
			return frames, tooLarge, err
		case whole != nil:
			frames = append(frames, *whole)
		}
	}
}

func TestGoldenFrames(t *testing.T) {
	var file struct{ Vectors []vector }
	if err := notation.Load("vectors/frames.json", &file); err != nil || len(file.Vectors) < 80 {
		t.Fatalf("%d vectors, %v", len(file.Vectors), err)
	}
	for _, vector := range file.Vectors {
		for how, in := range readers(notation.Hex(vector.Hex)) {
			t.Run(vector.Name+" "+how, func(t *testing.T) {
				frames, _, err := readAll(in, wire.DefaultMaxPayload)
				if err != nil || len(frames) != len(vector.Frames) {
					t.Fatalf("%d frames, %v", len(frames), err)
				}
				for index, want := range vector.Frames {
					compare(t, &frames[index], &want)
				}
			})
		}
	}
}

func compare(t *testing.T, got *wire.Frame, want *meaning) {
	t.Helper()
	if got.Kind != wire.KindOf(want.Kind) || fmt.Sprint(got.Seq) != fmt.Sprint(notation.Value(want.Seq)) {
		t.Fatalf("%s %d, want %s %v", got.Kind, got.Seq, want.Kind, want.Seq)
	}
	var flags []string
	if got.Flags&wire.Critical != 0 {
		flags = append(flags, "CRITICAL")
	}
	if got.Flags&wire.Shared != 0 {
		flags = append(flags, "SHARED")
	}
	if got.Kind == wire.Call && got.Flags&wire.Ahead != 0 {
		flags = append(flags, "AHEAD")
	}
	if !slices.Equal(flags, want.Flags) || got.Flags.Encoding() != encodings[want.Encoding] {
		t.Fatalf("flags %x, want %v %s", got.Flags, want.Flags, want.Encoding)
	}
	if payload := hex.EncodeToString(got.Payload); payload != want.PayloadHex {
		t.Fatalf("payload %s, want %s", payload, want.PayloadHex)
	}
	if want.Body != nil {
		compareBody(t, got, want.Body)
	}
}

// compareBody reads a body, compares it with what it means, and reads again what is written of it.
func compareBody(t *testing.T, frame *wire.Frame, want map[string]any) {
	t.Helper()
	read, err := readBody(frame)
	if err != nil {
		t.Fatal(err)
	}
	if got := plain(t, read); !covers(got, notation.Value(want)) {
		t.Fatalf("read %v, want %v", got, notation.Value(want))
	}
	again := *frame
	if again.Body = written(read); again.Body == nil {
		return
	}
	if reread, err := readBody(&again); err != nil || !reflect.DeepEqual(plain(t, reread), plain(t, read)) {
		t.Fatalf("read again: %+v, %v; before: %+v", reread, err, read)
	}
}

// covers tells whether a map has all that another has; nil and what is left out are the same.
func covers(got, want any) bool {
	entries, isMap := want.(map[string]any)
	list, isList := want.([]any)
	switch {
	case isMap:
		found, same := got.(map[string]any)
		for name, value := range entries {
			same = same && covers(found[name], value)
		}
		return same || got == nil && len(entries) == 0
	case isList:
		found, _ := got.([]any)
		same := len(found) == len(list)
		for index := range list {
			same = same && covers(found[index], list[index])
		}
		return same
	case want == nil:
		return got == nil
	default:
		return reflect.DeepEqual(got, want) || fmt.Sprint(got) == fmt.Sprint(want)
	}
}

// plain is a body as free values.
func plain(t *testing.T, body any) any {
	t.Helper()
	encoded, err := messagepack.Append(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := messagepack.Decode(encoded, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestMalformedFrames(t *testing.T) {
	var file struct{ Frames []vector }
	if err := notation.Load("vectors/malformed.json", &file); err != nil || len(file.Frames) < 60 {
		t.Fatalf("%d vectors, %v", len(file.Frames), err)
	}
	for _, vector := range file.Frames {
		for how, in := range readers(notation.Hex(vector.Hex)) {
			t.Run(vector.Name+" "+how, func(t *testing.T) {
				limit := uint64(wire.DefaultMaxPayload)
				if vector.MaxPayload > 0 {
					limit = vector.MaxPayload
				}
				frames, tooLarge, err := readAll(in, limit)
				if !vector.Violation {
					if err != nil || tooLarge == nil || tooLarge.Seq != vector.Seq || len(frames) != len(vector.Frames) {
						t.Fatalf("%d frames, %v, %v", len(frames), tooLarge, err)
					}
					return
				}
				for index := range frames {
					if err == nil {
						_, err = readBody(&frames[index])
					}
				}
				var violation wire.Violation
				if !errors.As(err, &violation) && vector.Direction == "to_worker" || err == nil {
					t.Fatalf("%v, want %s", err, vector.Error)
				}
			})
		}
	}
}

// readBody reads the body of any kind; those that a worker only writes are read for the tests alone.
func readBody(frame *wire.Frame) (body any, err error) {
	into := func(body any) (any, error) {
		if len(frame.Body) == 0 {
			return body, nil
		}
		err := messagepack.DecodeBody(frame.Body, body)
		return body, err
	}
	switch frame.Kind {
	case wire.Call:
		call, err := wire.ReadCall(frame.Body)
		return callFields(&call), err
	case wire.Cancel:
		reason, err := wire.ReadCancel(frame.Body)
		return map[string]any{"reason": reason}, err
	case wire.Credit:
		credit, err := wire.ReadCredit(frame.Body)
		return map[string]any{"items": int64(credit.Items), "bytes": credit.Bytes}, err
	case wire.Release:
		offsets, err := wire.ReadRelease(frame.Body)
		return map[string]any{"offsets": offsets}, err
	case wire.Stop:
		stop, err := wire.ReadStop(frame.Body)
		return stop, err
	case wire.Welcome:
		welcome, err := wire.ReadWelcome(frame.Body)
		return welcome, err
	case wire.Ready:
		return into(&wire.ReadyBody{})
	case wire.Error:
		return into(&wire.Report{})
	case wire.Attach:
		return into(&wire.AttachBody{})
	case wire.Hello:
		return into(&wire.HelloBody{})
	case wire.Progress:
		return readList(frame.Body, []string{"done", "total", "note"}, []string{"number", "number", "string"})
	case wire.Log:
		fields := []string{"level", "logger", "message", "fields"}
		return readList(frame.Body, fields, []string{"string", "string", "string", "map"})
	default:
		return nil, nil
	}
}

// written is a body as the worker would send it, nil if it never sends such a one.
func written(body any) []byte {
	switch body := body.(type) {
	case *wire.ReadyBody, *wire.Report, *wire.AttachBody, *wire.HelloBody:
		return messagepack.AppendBody(nil, body)
	default:
		return nil
	}
}

func callFields(call *wire.CallBody) map[string]any {
	fields := map[string]any{"function": call.Function, "attempt": int64(call.Attempt), "shape": int64(0)}
	if call.Arguments {
		fields["shape"] = int64(1)
	}
	if call.TimeoutMS != nil {
		fields["timeout_ms"] = *call.TimeoutMS
	}
	if call.Context != nil {
		context := map[string]any{}
		for name, value := range call.Context {
			context[name] = value
		}
		fields["context"] = context
	}
	if call.Batch != nil {
		fields["batch"] = map[string]any{"first": call.Batch.First, "count": int64(call.Batch.Count)}
	}
	return fields
}

// readList reads PROGRESS and LOG as a host would.
func readList(body []byte, names, types []string) (any, error) {
	defaults := map[string]any{"level": "info", "logger": "", "message": "", "done": 0.0}
	fields := map[string]any{}
	for _, name := range names {
		fields[name] = defaults[name]
	}
	var list []any
	if len(body) > 0 {
		if err := messagepack.DecodeBody(body, &list); err != nil {
			return nil, err
		}
	}
	for index, value := range list {
		if index == len(names) {
			break
		}
		kind, _, _ := strings.Cut(fmt.Sprintf("%T", value), "[")
		switch {
		case value == nil && defaults[names[index]] == nil:
		case kind == types[index], types[index] == "number" && (kind == "int64" || kind == "float64"):
			fields[names[index]] = value
		default:
			return nil, fmt.Errorf("%s is a %T", names[index], value)
		}
	}
	if level := fields["level"]; level != nil {
		if !slices.Contains([]any{"debug", "warning", "error", "critical"}, level) {
			fields["level"] = "info"
		}
	}
	return fields, nil
}

func TestAPayloadOfJustTheLimitFitsWholeAndInPieces(t *testing.T) {
	frame := wire.Frame{Kind: wire.Call, Seq: 1, Body: []byte{0x91, 0xa1, 'f'}, Payload: []byte("0123456789")}
	whole := append(frame.AppendHead(nil), frame.Payload...)
	// All of its bytes in the first piece, and an empty one behind it.
	pieces := append(frame.AppendPiece(nil, 0, len(frame.Payload)), frame.Payload...)
	pieces[13] |= byte(wire.More)
	pieces = append(pieces, (&wire.Frame{Kind: wire.Chunk, Seq: 1}).AppendHead(nil)...)
	for _, data := range [][]byte{whole, pieces} {
		frames, tooLarge, err := readAll(bytes.NewReader(data), 10)
		if err != nil || tooLarge != nil || len(frames) != 1 || string(frames[0].Payload) != "0123456789" {
			t.Errorf("%v, %v, %v", frames, tooLarge, err)
		}
		if frames, tooLarge, err := readAll(bytes.NewReader(data), 9); err != nil || tooLarge == nil || len(frames) != 0 {
			t.Errorf("%v, %v, %v", frames, tooLarge, err)
		}
	}
}

func TestAFrameThatIsLongerThanWhatIsBelievedIsReadWhole(t *testing.T) {
	payload := make([]byte, 40<<20)
	payload[len(payload)-1] = 7
	frame := wire.Frame{Kind: wire.Result, Seq: 1, Payload: payload}
	in := io.MultiReader(bytes.NewReader(frame.AppendHead(nil)), bytes.NewReader(payload))
	frames, _, err := readAll(in, wire.DefaultMaxPayload)
	if err != nil || len(frames) != 1 || !bytes.Equal(frames[0].Payload, payload) {
		t.Fatal(len(frames), err)
	}
}

func TestListBodiesAreReadAsTheyAreWritten(t *testing.T) {
	total := 4.0
	for _, frame := range []wire.Frame{
		{Kind: wire.Progress, Body: wire.ProgressBody(1, &total, "half")},
		{Kind: wire.Log, Body: wire.LogBody("warning", "app", "slow", map[string]any{"seconds": 1.5})},
		wire.CreditFrame(7, 32, 1<<40),
	} {
		want := map[wire.Kind]string{
			wire.Progress: `{"done":1,"note":"half","total":4}`,
			wire.Log:      `{"fields":{"seconds":1.5},"level":"warning","logger":"app","message":"slow"}`,
			wire.Credit:   `{"bytes":1099511627776,"items":32}`,
		}[frame.Kind]
		body, err := readBody(&frame)
		if text, _ := json.Marshal(body); err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	var file struct{ Vectors []vector }
	if err := notation.Load("vectors/frames.json", &file); err != nil {
		f.Fatal(err)
	}
	for _, vector := range file.Vectors {
		f.Add(notation.Hex(vector.Hex))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, _, wholeErr := readAll(bytes.NewReader(data), 1<<20)
		pieces, _, piecesErr := readAll(iotest.OneByteReader(bytes.NewReader(data)), 1<<20)
		// A frame that is cut short ends differently: by what the reader holds of it.
		if len(whole) != len(pieces) || (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("%d frames (%v) whole, %d (%v) in pieces", len(whole), wholeErr, len(pieces), piecesErr)
		}
		for index := range whole {
			_, _ = readBody(&whole[index])
		}
	})
}
