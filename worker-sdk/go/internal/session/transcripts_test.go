package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/notation"
	"ganger.dev/worker/internal/wire"
)

// takesBatches is the function of the transcripts that does.
const takesBatches = "double"

type object = map[string]any

type transcript struct {
	Needs     []string
	Functions []string
	Attach    *struct{ Token string }
	Steps     []object
}

// has is all that a transcript may need.
var has = map[string]bool{"streams": true, "input streams": true, "batches": true, "shared memory": true, "ahead": true}

func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(notation.Folder(), "transcripts", "*.json"))
	if err != nil || len(paths) < 90 {
		t.Fatalf("%d transcripts, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var transcript transcript
			if err := notation.Load(filepath.Join("transcripts", filepath.Base(path)), &transcript); err != nil {
				t.Fatal(err)
			}
			for _, need := range transcript.Needs {
				if !has[need] {
					t.Fatalf("needs %s", need)
				}
			}
			play(t, &transcript)
		})
	}
}

func play(t *testing.T, transcript *transcript) {
	var attach *wire.AttachBody
	if transcript.Attach != nil {
		attach = &wire.AttachBody{Token: transcript.Attach.Token, Session: "session"}
	}
	hello := wire.HelloBody{
		MinVersion: wire.Version, MaxVersion: wire.Version, Language: wire.Language,
		SharedMemory: slices.Contains(transcript.Needs, "shared memory"),
		Ahead:        slices.Contains(transcript.Needs, "ahead"),
	}
	player := &player{
		t: t, session: New(hello, attach), functions: transcript.Functions,
		lanes: map[string]*lane{"data": newLane(), "control": newLane()}, unread: map[uint64][]Input{},
	}
	player.collect()
	player.steps(transcript.Steps)
	player.mustWantNothing("at the end")
}

type player struct {
	t         *testing.T
	session   *Session
	functions []string
	lanes     map[string]*lane
	// waiting are items that had no credit when they were yielded.
	waiting []item
	// unread are items of input streams that the function has not read, by call.
	unread map[uint64][]Input
	// tokens are those for calls that are handed over ahead.
	tokens tokens
	// wanted is what the session wants and no step has named yet.
	wanted []object
}

type tokens struct{ count int64 }

func (t *tokens) Claim() bool {
	if t.count == 0 {
		return false
	}
	t.count--
	return true
}

type item struct {
	seq     uint64
	payload []byte
}

// A lane is a reader of bytes that come step by step.
type lane struct {
	bytes  bytes.Buffer
	reader *wire.Reader
}

func newLane() *lane {
	lane := &lane{}
	lane.reader = wire.NewReader(&lane.bytes)
	return lane
}

func (p *player) steps(steps []object) {
	p.t.Helper()
	for _, step := range steps {
		if times, repeated := step["repeat"]; repeated {
			count := notation.Value(times).(int64)
			for range count {
				p.steps(objects(step["steps"]))
			}
			continue
		}
		if count, put := step["tokens"]; put {
			p.tokens.count += notation.Value(count).(int64)
			continue
		}
		expected, isExpected := step["send"]
		if effect, isEffect := step["effect"]; isEffect {
			expected, isExpected = effect, true
		}
		if isExpected {
			p.expect(expected)
			continue
		}
		p.mustWantNothing(fmt.Sprintf("before %v", step))
		if arrival, received := step["receive"]; received {
			p.receive(arrival.(object))
		} else {
			p.happen(step["happen"].(object))
		}
		p.retryItems()
		p.collect()
		// What was sent is written at once; then it is the next one's turn.
		for answers := p.session.NewAnswers(); answers > 0; answers = p.session.NewAnswers() {
			p.session.Written(answers)
			p.collect()
		}
	}
}

func (p *player) expect(expected any) {
	p.t.Helper()
	for index, wanted := range p.wanted {
		if covers(wanted, notation.Value(expected)) {
			p.wanted = append(p.wanted[:index], p.wanted[index+1:]...)
			return
		}
	}
	p.t.Fatalf("%v does not happen, but %v", expected, p.wanted)
}

func (p *player) mustWantNothing(when string) {
	p.t.Helper()
	if len(p.wanted) > 0 {
		p.t.Fatalf("%s: unexpected %v", when, p.wanted)
	}
}

func (p *player) receive(arrival object) {
	if arrival["end"] == true {
		p.session.End()
		return
	}
	name := arrival["lane"].(string)
	on, lane := wire.Data, p.lanes[name]
	if name == "control" {
		on = wire.Control
	}
	if text, isHex := arrival["hex"].(string); isHex {
		lane.bytes.Write(notation.Hex(text))
	} else {
		lane.bytes.Write(frameOf(arrival))
	}
	for {
		frame, err := lane.reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			p.session.Refuse(err)
			continue
		}
		p.session.Receive(on, frame)
	}
}

func (p *player) happen(happening object) {
	for what, content := range happening {
		with := notation.Value(content).(object)
		number, _ := with["seq"].(int64)
		seq := uint64(number)
		report := func(code string) *wire.Report {
			report := wire.NewReport(code, fmt.Sprint(with["message"]))
			if path, has := with["path"].(string); has {
				report.Path = &path
			}
			return report
		}
		switch what {
		case "loaded":
			p.session.Loaded(contracts(p.functions))
		case "load_failed":
			p.session.LoadFailed(*report(""))
		case "hooks_done":
			p.session.HooksDone()
		case "return":
			p.session.Return(seq, wire.MessagePack, messagepack.AppendBody(nil, with["value"]))
		case "return_together":
			p.returnTogether(with)
		case "raise_together":
			for _, seq := range seqsOf(with) {
				p.session.Fail(seq, report(wire.CallFailed))
			}
		case "stopped_together":
			for _, seq := range seqsOf(with) {
				p.session.Stopped(seq, report(wire.CallFailed))
			}
		case "progress_together":
			for _, seq := range seqsOf(with) {
				p.session.Say(wire.Progress, seq, progressOf(with))
			}
		case "raise":
			p.session.Fail(seq, report(wire.CallFailed))
		case "invalid_input":
			p.session.Fail(seq, report(wire.InvalidInput))
		case "invalid_result":
			p.session.Fail(seq, report(wire.InvalidResult))
		case "stopped":
			p.stopWaiting(seq)
			p.session.Stopped(seq, report(wire.CallFailed))
		case "read":
			p.read(seq)
		case "yield":
			p.waiting = append(p.waiting, item{seq, messagepack.AppendBody(nil, with["value"])})
		case "log":
			level, logger, message := with["level"].(string), with["logger"].(string), with["message"].(string)
			p.session.Say(wire.Log, seq, wire.LogBody(level, logger, message, nil))
		case "progress":
			p.session.Say(wire.Progress, seq, progressOf(with))
		default:
			p.t.Fatalf("what is %s?", what)
		}
	}
}

// returnTogether does as the function's own side does, which lies outside of this package.
func (p *player) returnTogether(with object) {
	seqs, results := seqsOf(with), with["results"].([]any)
	for place, seq := range seqs {
		if len(results) != len(seqs) {
			p.session.Fail(seq, ResultsMisfit(len(seqs), len(results)))
			continue
		}
		result := results[place].(object)
		if message, failed := result["message"].(string); failed {
			p.session.Fail(seq, wire.NewReport(wire.CallFailed, message))
		} else {
			p.session.Return(seq, wire.MessagePack, messagepack.AppendBody(nil, result["value"]))
		}
	}
}

func seqsOf(with object) (seqs []uint64) {
	for _, seq := range with["seqs"].([]any) {
		seqs = append(seqs, uint64(seq.(int64)))
	}
	return seqs
}

func progressOf(with object) []byte {
	total := float64(with["total"].(int64))
	return wire.ProgressBody(float64(with["done"].(int64)), &total, with["note"].(string))
}

func (p *player) read(seq uint64) {
	input := p.unread[seq][0]
	p.unread[seq] = p.unread[seq][1:]
	length := len(input.Payload)
	if input.Shared != nil {
		length = int(input.Shared.Length)
		p.session.GiveBack(seq, input.Shared)
	}
	p.session.Read(seq, length)
}

func (p *player) stopWaiting(seq uint64) {
	var left []item
	for _, item := range p.waiting {
		if item.seq != seq {
			left = append(left, item)
		}
	}
	p.waiting = left
}

func (p *player) retryItems() {
	var left []item
	for _, item := range p.waiting {
		if p.session.Item(item.seq, wire.MessagePack, item.payload) == Wait {
			left = append(left, item)
		}
	}
	p.waiting = left
}

func (p *player) collect() {
	for name, frames := range map[string][]wire.Frame{"control": p.session.ControlOut, "data": p.session.DataOut} {
		for index := range frames {
			p.wanted = append(p.wanted, sentMeaning(p.t, name, &frames[index]))
		}
	}
	for _, effect := range p.session.Effects {
		if meaning := p.effectMeaning(effect); meaning != nil {
			p.wanted = append(p.wanted, meaning)
		}
	}
	p.session.ControlOut, p.session.DataOut, p.session.Effects = nil, nil, nil
}

func (p *player) effectMeaning(effect Effect) object {
	switch effect := effect.(type) {
	case Load:
		for _, lane := range p.lanes {
			lane.reader.Limit(effect.Welcome.MaxPayload)
		}
		if effect.Welcome.ClaimsFD != nil {
			p.session.ClaimFrom(&p.tokens)
		}
		return object{"load": object{}}
	case Run:
		if effect.Call.Function == takesBatches {
			return object{"run_together": object{"calls": []any{runMeaning(p.t, &effect)}}}
		}
		return object{"run": runMeaning(p.t, &effect)}
	case RunTogether:
		var calls []any
		for index := range effect.Runs {
			calls = append(calls, runMeaning(p.t, &effect.Runs[index]))
		}
		return object{"run_together": object{"calls": calls}}
	case Cancel:
		return object{"cancel": object{"seq": int64(effect.Seq), "reason": effect.Reason}}
	case Input:
		p.unread[effect.Seq] = append(p.unread[effect.Seq], effect)
		meaning := object{"seq": int64(effect.Seq)}
		mean(p.t, meaning, "value", effect.Encoding, effect.Payload, effect.Shared)
		return object{"input": meaning}
	case InputEnd:
		return object{"input_end": object{"seq": int64(effect.Seq)}}
	case Shutdown:
		return object{"shutdown": object{}}
	case Exit:
		if (effect.Complaint != "") != (effect.Code == wire.ViolationExit) {
			p.t.Errorf("a violation says what it was: %+v", effect)
		}
		return object{"exit": object{"code": int64(effect.Code)}}
	case Vanish:
		return object{"exit": object{"code": int64(0)}}
	default:
		return nil
	}
}

func runMeaning(t *testing.T, run *Run) object {
	meaning := object{
		"seq": int64(run.Seq), "function": run.Call.Function, "attempt": int64(run.Call.Attempt),
		"shape": int64(0),
	}
	mean(t, meaning, "input", run.Encoding, run.Payload, run.Shared)
	if run.Call.Arguments {
		meaning["shape"] = int64(1)
	}
	if run.Call.TimeoutMS != nil {
		meaning["timeout_ms"] = int64(*run.Call.TimeoutMS)
	}
	if run.Call.Context != nil {
		context := object{}
		for name, value := range run.Call.Context {
			context[name] = value
		}
		meaning["context"] = context
	}
	return meaning
}

func sentMeaning(t *testing.T, lane string, frame *wire.Frame) object {
	meaning := object{"lane": lane, "kind": frame.Kind.String(), "seq": int64(frame.Seq)}
	if len(frame.Payload) > 0 {
		meaning["payload"] = valueOf(t, frame.Flags.Encoding(), frame.Payload)
	}
	if len(frame.Body) == 0 {
		return meaning
	}
	var body any
	if err := messagepack.DecodeBody(frame.Body, &body); err != nil {
		t.Fatal(err)
	}
	names := map[wire.Kind][]string{
		wire.Log: {"level", "logger", "message", "fields"}, wire.Progress: {"done", "total", "note"},
		wire.Credit: {"items", "bytes"},
	}[frame.Kind]
	if list, isList := body.([]any); isList && names != nil {
		fields := object{}
		for index, name := range names {
			fields[name] = list[index]
		}
		body = fields
	}
	meaning["body"] = body
	return meaning
}

// mean says what a payload is, or where it lies.
func mean(
	t *testing.T, meaning object, name string, encoding wire.Encoding, payload []byte, shared *wire.Reference,
) {
	if shared == nil {
		meaning[name] = valueOf(t, encoding, payload)
		return
	}
	meaning["shared"] = object{
		"arena": int64(shared.Arena), "offset": int64(shared.Offset), "length": int64(shared.Length),
	}
}

func valueOf(t *testing.T, encoding wire.Encoding, payload []byte) (value any) {
	if encoding == wire.Raw {
		return payload
	}
	if err := messagepack.Decode(payload, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// covers tells whether what happened has all that a step names.
func covers(found, expected any) bool {
	switch expected := expected.(type) {
	case object:
		entries, same := found.(object)
		for name, value := range expected {
			entry, there := entries[name]
			same = same && (there || value == nil) && covers(entry, value)
		}
		return same
	case []any:
		list, _ := found.([]any)
		same := len(list) == len(expected)
		for index := 0; same && index < len(list); index++ {
			same = covers(list[index], expected[index])
		}
		return same
	case int64:
		if float, isFloat := found.(float64); isFloat {
			return float == float64(expected)
		}
	}
	return reflect.DeepEqual(found, expected)
}

func contracts(names []string) []wire.Contract {
	var contracts []wire.Contract
	for _, name := range names {
		contract := wire.Contract{Name: name, Kind: "value"}
		if name == "sum" || name == "scan" {
			contract.Inputs = &map[string]any{}
		}
		if name == takesBatches {
			contract.Batch = &wire.Batch{Max: 4}
		}
		contracts = append(contracts, contract)
	}
	return contracts
}

func objects(list any) []object {
	var found []object
	for _, item := range list.([]any) {
		found = append(found, item.(object))
	}
	return found
}

func frameOf(step object) []byte {
	frame := wire.Frame{Kind: wire.KindOf(step["kind"].(string)), Seq: number(step["seq"], 0)}
	body, _ := step["body"].(object)
	frame.Body = bodyOf(frame.Kind, body)
	if frame.Kind == wire.Call || frame.Kind == wire.Stop || frame.Kind == wire.Welcome {
		frame.Flags = wire.Critical
	}
	if names, named := step["flags"].([]any); named {
		frame.Flags = 0
		for _, name := range names {
			frame.Flags |= map[any]wire.Flags{
				"CRITICAL": wire.Critical, "MORE": wire.More, "SHARED": wire.Shared, "AHEAD": wire.Ahead,
			}[name]
		}
	}
	frame.Flags |= map[any]wire.Flags{"raw": wire.Flags(wire.Raw), "unknown": 0x30}[step["encoding"]]
	if text, isHex := step["payload_hex"].(string); isHex {
		frame.Payload = notation.Hex(text)
	} else if value, has := step["payload"]; has {
		frame.Payload = messagepack.AppendBody(nil, notation.Value(value))
	}
	return append(frame.AppendHead(nil), frame.Payload...)
}

func bodyOf(kind wire.Kind, fields object) []byte {
	switch kind {
	case wire.Call:
		return messagepack.AppendBody(nil, []any{
			fields["function"], number(fields["attempt"], 1), notation.Value(fields["timeout_ms"]),
			number(fields["shape"], 0), notation.Value(fields["context"]), notation.Value(fields["batch"]),
		})
	case wire.Stop, wire.Welcome:
		return messagepack.AppendBody(nil, notation.Value(fields))
	case wire.Cancel:
		return messagepack.AppendBody(nil, []any{fields["reason"]})
	case wire.Credit:
		return messagepack.AppendBody(nil, []any{number(fields["items"], 0), number(fields["bytes"], 0)})
	default:
		return nil
	}
}

func number(notated any, absent uint64) uint64 {
	if text, isNumber := notated.(json.Number); isNumber {
		return uint64(notation.Value(text).(int64))
	}
	return absent
}
