package lanes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"ganger.dev/worker/internal/wire"
)

// gate is a lane that writes nothing until it is opened.
type gate struct {
	bytes  bytes.Buffer
	open   chan struct{}
	begun  chan struct{}
	begins sync.Once
}

func newGate() *gate { return &gate{open: make(chan struct{}), begun: make(chan struct{})} }

func (g *gate) Write(data []byte) (int, error) {
	g.begins.Do(func() { close(g.begun) })
	<-g.open
	return g.bytes.Write(data)
}

// arrivals reads all frames as the host sees them, chunks joined, each described.
func arrivals(t *testing.T, in io.Reader) (raw, whole []string) {
	t.Helper()
	reader, chunks := wire.NewReader(in), wire.Chunks{}
	for {
		frame, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return raw, whole
		}
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, fmt.Sprint(frame.Kind, frame.Seq))
		joined, err := chunks.Take(frame, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if joined != nil {
			whole = append(whole, fmt.Sprint(joined.Kind, joined.Seq, len(joined.Payload)))
		}
	}
}

func TestShortFramesGoBetweenThePiecesOfALongOneAndThoseOfItsCallBehindIt(t *testing.T) {
	gate := newGate()
	outbox := NewOutbox(gate)
	outbox.Add(wire.Frame{Kind: wire.Item, Seq: 1, Payload: make([]byte, 2*pieceLength+5)})
	flushed := make(chan error)
	go func() { flushed <- outbox.Flush() }()
	<-gate.begun
	outbox.Add(wire.Frame{Kind: wire.Item, Seq: 1, Payload: []byte("x")})
	outbox.Add(wire.Frame{Kind: wire.Result, Seq: 2, Payload: make([]byte, joinedLength+1)})
	outbox.Add(wire.Frame{Kind: wire.Result, Seq: 1, Payload: make([]byte, pieceLength+1)})
	if err := outbox.Flush(); err != nil {
		t.Fatal("somebody else writes already", err)
	}
	close(gate.open)
	if err := errors.Join(<-flushed, outbox.Drain()); err != nil {
		t.Fatal(err)
	}
	raw, whole := arrivals(t, &gate.bytes)
	wantRaw := "[ITEM 1 RESULT 2 CHUNK 1 CHUNK 1 ITEM 1 RESULT 1 CHUNK 1]"
	wantWhole := fmt.Sprintf("[RESULT 2 %d ITEM 1 %d ITEM 1 1 RESULT 1 %d]", joinedLength+1, 2*pieceLength+5, pieceLength+1)
	if fmt.Sprint(raw) != wantRaw || fmt.Sprint(whole) != wantWhole {
		t.Fatalf("%v\n%v", raw, whole)
	}
}

func TestFramesOfManyGoOutWholeAndInEachOnesOrder(t *testing.T) {
	const writers, each = 8, 200
	var lane bytes.Buffer
	outbox := NewOutbox(&lane)
	var all sync.WaitGroup
	for writer := range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range each {
				payload := make([]byte, number*97%3000)
				outbox.Add(wire.Frame{Kind: wire.Item, Seq: uint64(writer + 1), Payload: payload})
				if err := outbox.Flush(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	if err := outbox.Drain(); err != nil {
		t.Fatal(err)
	}
	_, whole := arrivals(t, &lane)
	next := map[int]int{}
	for _, frame := range whole {
		var seq, length int
		if _, err := fmt.Sscanf(frame, "ITEM %d %d", &seq, &length); err != nil || length != next[seq]*97%3000 {
			t.Fatalf("%s as number %d, %v", frame, next[seq], err)
		}
		next[seq]++
	}
	if len(whole) != writers*each {
		t.Fatalf("%d frames", len(whole))
	}
}

func TestALaneThatFailsIsToldToWhoeverWrites(t *testing.T) {
	reader, writer := io.Pipe()
	_ = reader.Close()
	outbox := NewOutbox(writer)
	outbox.Add(wire.Frame{Kind: wire.Pong, Seq: 1})
	if outbox.Flush() == nil || outbox.Drain() == nil {
		t.Fatal("nobody reads")
	}
}
