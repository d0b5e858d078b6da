package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ganger.dev/worker"
	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %#v, want %#v", got, want)
	}
}

func TestContracts(t *testing.T) {
	h := start(t, "functions", nil)
	frame := h.expect(wire.Ready, 0)
	var ready wire.ReadyBody
	if err := messagepack.DecodeBody(frame.Body, &ready); err != nil {
		t.Fatal(err)
	}
	contracts := map[string]wire.Contract{}
	for _, contract := range ready.Functions {
		contracts[contract.Name] = contract
	}
	convert := contracts["convert"]
	got := fmt.Sprint([]any{convert.Kind, *convert.Summary, convert.Idempotent, convert.Slots, convert.Weight,
		convert.Coefficient, *convert.Exclusive, *convert.TimeoutMS, convert.Output})
	equal(t, got, "[value Converts a price true 2 20 1 worker 5000 map[type:number]]")
	amount := convert.Input["properties"].(values)["amount"]
	equal(t, amount, values{"type": "number", "minimum": int64(0), "description": "In euros"})
	equal(t, convert.Input["required"], []any{"amount"})
	equal(t, contracts["count"].Kind, "stream")
	equal(t, contracts["count"].Output, values{"type": "integer"})
	equal(t, contracts["echo"].Input, values(nil))
	equal(t, *contracts["sum"].Inputs, values{"type": "integer"})
	equal(t, contracts["count"].Inputs, (*values)(nil))
}

func TestValuesComeBackAsTheyWent(t *testing.T) {
	h := serving(t, nil)
	for _, value := range []any{
		nil, true, int64(-1) << 62, uint64(1<<64 - 1), 1.5, "grüße 🌍", []any{int64(1), []any{}}, values{"a": values{"b": nil}},
	} {
		equal(t, h.result("echo", value), value)
	}
	equal(t, h.result("none", nil), nil)
}

func TestRawBytesBothWays(t *testing.T) {
	h := serving(t, nil)
	equal(t, h.resultOf(h.callWith(wire.Raw, []byte("abc"), "reverse")), []byte("cba"))
	equal(t, h.result("reverse", []byte("abc")), []byte("cba"))
	equal(t, h.resultOf(h.callWith(wire.Raw, []byte("abc"), "echo")), []byte("abc"))
	equal(t, *h.failureOf(h.callWith(wire.Raw, []byte("abc"), "convert")).Path, "$")
}

func TestLargePayloadsBothWays(t *testing.T) {
	h := serving(t, nil)
	large := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	equal(t, h.resultOf(h.callWith(wire.Raw, bytes.Clone(large), "echo")), large)
	h.seq++
	first := wire.Frame{Kind: wire.Call, Seq: h.seq, Flags: wire.Critical | wire.Flags(wire.Raw),
		Body: messagepack.AppendBody(nil, []any{"echo"}), Payload: large}
	for at := 0; at < len(large); at += 1 << 20 {
		piece := large[at:min(at+1<<20, len(large))]
		if _, err := h.data.Write(append(first.AppendPiece(nil, at, len(piece)), piece...)); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, h.resultOf(h.seq), large)
}

func TestTheInputIsRefusedBeforeTheFunctionRuns(t *testing.T) {
	h := serving(t, nil)
	for path, input := range map[string]any{
		"$": "no map", "$.amount": values{"currency": "EUR"}, "$.currency": values{"amount": 1, "currency": "GBP"},
	} {
		report := h.failure("convert", input)
		if report.Code != wire.InvalidInput || report.Path == nil || *report.Path != path || !strings.Contains(report.Message, path) {
			t.Errorf("%+v, want %s", report, path)
		}
	}
	equal(t, h.failureOf(h.callWith(wire.MessagePack, nil, "convert")).Code, wire.InvalidInput)
	equal(t, h.result("convert", values{"amount": 3}), 6.0)
}

func TestArgumentsAreTheOneInput(t *testing.T) {
	h := serving(t, nil)
	const arguments = 1
	equal(t, h.result("convert", []any{[]any{values{"amount": 1}}, values{}}, 1, nil, arguments), 2.0)
	equal(t, h.result("convert", []any{[]any{}, values{"amount": 2}}, 1, nil, arguments), 4.0)
	equal(t, h.result("none", []any{[]any{}, values{}}, 1, nil, arguments), nil)
	for _, unfit := range []any{[]any{[]any{1, 2}, values{}}, []any{[]any{1}}, 3, []any{[]any{1}, values{"a": 1}}} {
		equal(t, h.failure("convert", unfit, 1, nil, arguments).Code, wire.InvalidInput)
	}
}

func TestAnUnknownFunctionIsToldWithTheNearestName(t *testing.T) {
	h := serving(t, nil)
	report := h.failure("konvert", nil)
	equal(t, report.Code, wire.NoSuchFunction)
	if !strings.Contains(report.Message, `"convert"`) {
		t.Error(report.Message)
	}
}

func TestAnUnknownNameIsNotRepeatedAtAnyLength(t *testing.T) {
	h := serving(t, nil)
	name := strings.Repeat("ä", 200)
	equal(t, h.failure(name, nil).Message, `no function "`+name+`"`)
	equal(t, h.failure(name+strings.Repeat("a", 100_000), nil).Message, `no function "`+name+`…"`)
}

func TestAnErrorHasItsTypePropertiesAndCauses(t *testing.T) {
	h := serving(t, nil)
	report := h.failure("fail", "quota")
	equal(t, []string{report.Code, report.Type, report.Message}, []string{wire.CallFailed, "error", "cannot load: over quota"})
	cause := report.Cause
	equal(t, []string{cause.Code, cause.Type, cause.Message, cause.Cause.Message},
		[]string{"", "worker_test.quota", "over quota", "file does not exist"})
	equal(t, cause.Properties["limit"], int64(3))
	equal(t, cause.Dropped, []string{"socket"})
	equal(t, h.failure("fail", "rude").Type, "worker_test.rude")
	equal(t, h.failure("fail", strings.Repeat("x", 1<<20)).Message[1<<16-len(" … (cut)"):], " … (cut)")
	equal(t, h.failure("fail", "bad \xff"[:4]).Message, "bad ")
}

func TestAPanicFailsItsCallWithTheStackAndNotTheWorker(t *testing.T) {
	h := serving(t, nil)
	for how, want := range map[string][2]string{
		"panic": {"panic", "out of luck"}, "index": {"runtime.boundsError", "index out of range [5]"},
		"nil": {"runtime.errorString", "nil pointer"},
	} {
		report := h.failure("fail", how)
		if report.Code != wire.CallFailed || !strings.Contains(report.Message, want[1]) {
			t.Errorf("%s: %+v", how, report)
		}
		if report.Traceback == nil || !strings.Contains(*report.Traceback, "worker_test.fail(...)\n\t") ||
			strings.Contains(*report.Traceback, "runtime.") && how == "panic" {
			t.Errorf("%s: traceback %v", how, report.Traceback)
		}
		if how == "panic" {
			equal(t, report.Type, want[0])
		}
	}
	equal(t, h.failure("fail", "goexit").Message, "the function ended its goroutine without returning")
	equal(t, h.result("echo", 1), int64(1))
}

func TestAResultThatCannotBeWritten(t *testing.T) {
	h := serving(t, nil)
	report := h.failure("unwritable", nil)
	equal(t, report.Code, wire.InvalidResult)
	equal(t, *report.Path, "$.socket")
}

func TestPayloadsBeyondTheLimitFailTheirCallOnly(t *testing.T) {
	h := serving(t, values{"max_payload": 100})
	equal(t, h.failureOf(h.callWith(wire.Raw, make([]byte, 200), "echo")).Code, wire.PayloadTooLarge)
	equal(t, h.failure("convert", values{"amount": "1"}).Code, wire.InvalidInput)
	equal(t, h.failure("repeat", 200).Code, wire.PayloadTooLarge)
}

func TestWhatAFunctionSees(t *testing.T) {
	h := serving(t, nil)
	trace := values{"traceparent": "00-1"}
	equal(t, h.result("seen", nil, 2, 60_000, 0, trace), values{
		"function": "seen", "attempt": int64(2), "number": int64(1), "trace": trace, "pool": "test", "worker": int64(3),
		"device": "cuda:1", "limited": true, "deadline": true,
	})
	equal(t, h.result("seen", nil, 1, nil).(values)["limited"], false)
	equal(t, h.result("seen", nil, 1, uint64(1<<64-1)).(values)["deadline"], true)
}

func TestAFunctionCanBeTestedAsItIs(t *testing.T) {
	got, err := seen(context.Background(), worker.None{})
	if err != nil || got["attempt"] != 1 || got["limited"] != false {
		t.Fatal(got, err)
	}
	if _, err := log(context.Background(), worker.None{}); err != nil {
		t.Fatal(err)
	}
}

func TestLogsAndProgressOfACall(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("log", nil)
	h.resultOf(seq)
	equal(t, h.logs(), []string{
		fmt.Sprint([]any{seq, "warning", "ganger.log", "slow", values{"seconds": 1.5, "where": values{"line": int64(3)}}}),
		fmt.Sprint([]any{seq, "info", "ganger.log", "hello", h.logFields()}),
		fmt.Sprint([]any{seq, "critical", "ganger.log", "the end is nigh\uFFFD", nil}),
	})
	var progress []any
	for _, frame := range h.kept {
		if frame.Kind == wire.Progress {
			var body any
			if err := messagepack.DecodeBody(frame.Body, &body); err != nil {
				t.Fatal(err)
			}
			progress = append(progress, body)
		}
	}
	equal(t, progress, []any{[]any{1.0, 4.0, "a quarter"}, []any{2.0, nil, nil}})
}

// logFields are those of the record with groups; what cannot be written is there as text, which no test knows.
func (h *host) logFields() any {
	for index := range h.kept {
		if frame := &h.kept[index]; frame.Kind == wire.Log {
			var body []any
			if err := messagepack.DecodeBody(frame.Body, &body); err != nil || body[2] != "hello" {
				continue
			}
			fields := body[3].(values)
			deep := fields["deep"].(values)
			if fields["of"] != "the app" || deep["error"] != "broken" || !strings.HasPrefix(deep["bad"].(string), "0x") {
				h.t.Error(fields)
			}
			return fields
		}
	}
	return nil
}

func TestCallsRunSideBySideAndAllComeBack(t *testing.T) {
	h := serving(t, values{"concurrency": 64})
	started := h.mark("busy")
	busy := h.call("busy", started)
	h.appears(started)
	for round := range 20 {
		var sent []uint64
		for number := range 50 {
			sent = append(sent, h.call("echo", round*100+number))
		}
		for number, seq := range sent {
			equal(t, h.resultOf(seq), int64(round*100+number))
		}
		h.kept = nil
	}
	h.cancel(busy, "cancel")
	equal(t, h.result("echo", 1), int64(1))
}
