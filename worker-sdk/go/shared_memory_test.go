package worker_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

const (
	arenaSize = 4 << 20
	threshold = 64 << 10
)

// arenas are the host's side of shared memory.
type arenas struct{ inputs, results *os.File }

// sharing starts a worker that shares memory and waits until it is ready.
func sharing(t *testing.T, settings values) (*host, *arenas) {
	t.Helper()
	made := &arenas{}
	for name, file := range map[string]**os.File{"inputs": &made.inputs, "results": &made.results} {
		opened, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		if err := opened.Truncate(arenaSize); err != nil {
			t.Fatal(err)
		}
		*file = opened
	}
	h := launch(t, "functions", made.inputs, made.results)
	shared := values{
		"input_fd": 5, "result_fd": 6, "input_size": arenaSize, "result_size": arenaSize, "threshold": threshold,
	}
	all := values{"shared_memory": shared}
	for name, value := range settings {
		all[name] = value
	}
	if hello := h.welcome(all); !hello.SharedMemory {
		t.Fatal("it does not say that it can")
	}
	h.expect(wire.Ready, 0)
	h.kept = nil
	return h, made
}

// put leaves an input and refers to it.
func (a *arenas) put(h *host, function string, data []byte, offset uint64) uint64 {
	h.t.Helper()
	if _, err := a.inputs.WriteAt(data, int64(offset)); err != nil {
		h.t.Fatal(err)
	}
	reference := wire.Reference{Arena: wire.InputArena, Offset: offset, Length: uint64(len(data))}
	return h.callWith(wire.Encoding(wire.Flags(wire.Raw)|wire.Shared), reference.Append(nil), function)
}

// take is what a result refers to, and where it lies.
func (a *arenas) take(h *host, seq uint64) (data []byte, offset uint64) {
	h.t.Helper()
	frame := h.answer(seq)
	if frame.Kind != wire.Result || frame.Flags&wire.Shared == 0 {
		h.t.Fatalf("%s with %d bytes and flags %x", frame.Kind, len(frame.Payload), frame.Flags)
	}
	reference, err := wire.ReadReference(frame.Payload)
	if err != nil || !reference.IsWithin(wire.ResultArena, arenaSize) {
		h.t.Fatal(reference, err)
	}
	data = make([]byte, reference.Length)
	if _, err := a.results.ReadAt(data, int64(reference.Offset)); err != nil {
		h.t.Fatal(err)
	}
	return data, reference.Offset
}

func TestInputsAreReadAndResultsLeftInSharedMemory(t *testing.T) {
	h, shared := sharing(t, nil)
	data := bytes.Repeat([]byte("abcd"), threshold)
	got, _ := shared.take(h, shared.put(h, "echo", data, 12345))
	equal(t, got, data)
	equal(t, h.resultOf(shared.put(h, "reverse", []byte("short"), 3)), []byte("trohs"))
	text, _ := shared.take(h, h.call("repeat", threshold))
	equal(t, string(text[len(text)-threshold:]), strings.Repeat("x", threshold))
}

func TestItemsOfAnInputStreamAreReadInSharedMemoryAndTheirBlocksGoBackOneByOne(t *testing.T) {
	h, shared := sharing(t, nil)
	seq := h.call("sum", 1)
	for _, offset := range []uint64{65536, 131072} {
		data := messagepack.AppendBody(nil, int64(20))
		if _, err := shared.inputs.WriteAt(data, int64(offset)); err != nil {
			t.Fatal(err)
		}
		reference := wire.Reference{Arena: wire.InputArena, Offset: offset, Length: uint64(len(data))}
		h.send(h.data, wire.Frame{Kind: wire.Input, Flags: wire.Shared, Seq: seq, Payload: reference.Append(nil)})
		back := h.expect(wire.Release, seq)
		offsets, err := wire.ReadRelease(back.Body)
		equal(t, err, nil)
		equal(t, offsets, []uint64{offset})
	}
	h.send(h.data, wire.Frame{Kind: wire.InputEnd, Seq: seq})
	equal(t, h.resultOf(seq), int64(41))
}

func TestABlockIsNotUsedAgainBeforeTheHostLetsIt(t *testing.T) {
	h, shared := sharing(t, nil)
	one := bytes.Repeat([]byte("1"), 1<<20)
	_, first := shared.take(h, shared.put(h, "echo", one, 0))
	two, second := shared.take(h, shared.put(h, "echo", bytes.Repeat([]byte("2"), 1<<20), 0))
	equal(t, first != second, true)
	equal(t, two[0], byte('2'))
	h.send(h.data, wire.Frame{Kind: wire.Release, Body: []byte{0x92, 0xce, 0, byte(first >> 16), byte(first >> 8), byte(first), 7}})
	_, third := shared.take(h, shared.put(h, "echo", one, 0))
	equal(t, third, first)
}

func TestWithoutRoomAResultGoesThroughTheLane(t *testing.T) {
	h, shared := sharing(t, nil)
	data := bytes.Repeat([]byte("z"), arenaSize*3/4)
	shared.take(h, shared.put(h, "echo", data, 0))
	equal(t, h.resultOf(shared.put(h, "echo", data, 0)), data)
}

func TestTheLimitIsThatOfWhatIsReferredTo(t *testing.T) {
	h, shared := sharing(t, values{"max_payload": 100_000})
	equal(t, h.failureOf(shared.put(h, "echo", make([]byte, 100_001), 0)).Code, wire.PayloadTooLarge)
	equal(t, h.failure("repeat", 200_000).Code, wire.PayloadTooLarge)
	shared.take(h, shared.put(h, "echo", make([]byte, 100_000), 0))
}

func TestAReferenceToAnythingElseIsAViolation(t *testing.T) {
	for what, reference := range map[string]wire.Reference{
		"beyond": {Offset: arenaSize - 1, Length: 2}, "wraps round": {Offset: 1 << 63, Length: 1 << 63},
		"results": {Arena: wire.ResultArena, Length: 1}, "no arena": {Arena: 7},
	} {
		t.Run(what, func(t *testing.T) {
			h, _ := sharing(t, nil)
			h.callWith(wire.Encoding(wire.Shared), reference.Append(nil), "echo")
			equal(t, h.exitCode(), wire.ViolationExit)
		})
	}
	t.Run("not agreed", func(t *testing.T) {
		h := serving(t, nil)
		h.callWith(wire.Encoding(wire.Shared), (&wire.Reference{}).Append(nil), "echo")
		equal(t, h.exitCode(), wire.ViolationExit)
	})
	t.Run("in pieces", func(t *testing.T) {
		h, _ := sharing(t, nil)
		h.callWith(wire.Encoding(wire.Shared|wire.More), (&wire.Reference{}).Append(nil), "echo")
		equal(t, h.exitCode(), wire.ViolationExit)
	})
}

func TestDescriptorsThatAreNoArenasEndTheWorker(t *testing.T) {
	h := launch(t, "functions")
	h.welcome(values{"shared_memory": values{"input_fd": 4000, "result_fd": 4001}})
	equal(t, h.exitCode(), wire.ViolationExit)
}

func TestChildrenHaveNeitherArena(t *testing.T) {
	h, _ := sharing(t, nil)
	want, err := environment(t.Context(), struct{}{})
	if err != nil {
		t.Skip(err)
	}
	equal(t, h.result("environment", nil), want)
}

func TestInputItemsMayLieInSharedMemory(t *testing.T) {
	h, shared := sharing(t, nil)
	seq := h.call("sum", 1)
	if _, err := shared.inputs.WriteAt([]byte{41}, 99); err != nil {
		t.Fatal(err)
	}
	reference := wire.Reference{Offset: 99, Length: 1}
	h.send(h.data, wire.Frame{Kind: wire.Input, Flags: wire.Shared, Seq: seq, Payload: reference.Append(nil)})
	h.send(h.data, wire.Frame{Kind: wire.InputEnd, Seq: seq})
	equal(t, h.resultOf(seq), int64(42))
}
