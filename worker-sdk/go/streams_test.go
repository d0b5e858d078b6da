package worker_test

import (
	"bytes"
	"testing"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

func (h *host) credit(seq uint64, items uint32, bytes uint64) {
	h.t.Helper()
	h.send(h.control, wire.CreditFrame(seq, items, bytes))
}

// items counts the items of a call that were kept.
func (h *host) items(seq uint64) (count int) {
	for _, frame := range h.kept {
		if frame.Kind == wire.Item && frame.Seq == seq {
			count++
		}
	}
	return count
}

func (h *host) input(seq uint64, items ...any) {
	h.t.Helper()
	for _, item := range items {
		h.send(h.data, wire.Frame{Kind: wire.Input, Seq: seq, Payload: messagepack.AppendBody(nil, item)})
	}
}

func TestAStreamGivesItsItemsInOrderAndThenItsEnd(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("count", 3)
	for number := range 3 {
		frame := h.expect(wire.Item, seq)
		equal(t, h.value(&frame), int64(number))
	}
	equal(t, h.resultOf(seq), nil)
}

func TestAStreamWaitsForCreditAndHoldsUpNobody(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("count", 70)
	for range 64 {
		h.expect(wire.Item, seq)
	}
	equal(t, h.result("echo", "others go on"), "others go on")
	equal(t, h.items(seq), 0)
	h.credit(seq, 6, 0)
	h.resultOf(seq)
	equal(t, h.items(seq), 6)
}

func TestAStreamOfBytesWaitsForCreditInBytes(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("blocks", 6)
	for range 4 {
		h.expect(wire.Item, seq)
	}
	equal(t, h.result("echo", 1), int64(1))
	equal(t, h.items(seq), 0)
	h.credit(seq, 0, 1) // one byte is positive: an item goes, and turns it negative
	h.expect(wire.Item, seq)
	h.credit(seq, 0, 1<<20)
	h.resultOf(seq)
	equal(t, h.items(seq), 1)
}

func TestAFunctionMayFillItsBufferAgainOnceAnItemIsSent(t *testing.T) {
	h := serving(t, nil)
	next := map[uint64]byte{}
	for _, mark := range []int{0, 100, 180} {
		next[h.call("refills", mark)] = byte(mark)
	}
	for ended := 0; ended < 3; {
		frame := h.next(h.data)
		if frame.Kind == wire.Result {
			ended++
			continue
		}
		if want := bytes.Repeat([]byte{next[frame.Seq]}, 40<<10); !bytes.Equal(frame.Payload, want) {
			t.Fatalf("an item of %d... for %d...", frame.Payload[0], want[0])
		}
		next[frame.Seq]++
	}
}

func TestAStreamWithoutCreditHearsOfACancel(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("count", 1000)
	for range 64 {
		h.expect(wire.Item, seq)
	}
	h.cancel(seq, "cancel")
	equal(t, h.failureOf(seq).Code, wire.Cancelled)
	equal(t, h.items(seq), 0)
}

func TestAnItemBeyondTheLimitFailsItsCall(t *testing.T) {
	h := serving(t, values{"max_payload": 1 << 19})
	seq := h.call("blocks", 1)
	equal(t, h.failureOf(seq).Code, wire.PayloadTooLarge)
	equal(t, h.result("echo", 1), int64(1))
}

func TestAnInputStreamIsReadToItsEndAndGivesCredit(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("sum", 5)
	for number := range 64 {
		h.input(seq, number)
	}
	for range 2 {
		frame := h.expectOn(h.control, wire.Credit, seq)
		credit, err := wire.ReadCredit(frame.Body)
		if err != nil || credit.Items != 32 {
			t.Fatalf("%+v, %v", credit, err)
		}
	}
	h.input(seq, 1000)
	h.send(h.data, wire.Frame{Kind: wire.InputEnd, Seq: seq})
	equal(t, h.resultOf(seq), int64(5+63*32+1000))
	h.input(seq, 1) // was on its way
	equal(t, h.result("echo", 1), int64(1))
}

func TestAnInputItemThatDoesNotFitIsToldAsSuch(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("sum", 5)
	h.input(seq, 1, "two")
	report := h.failureOf(seq)
	equal(t, report.Code, wire.InvalidInput)
}

func TestAFunctionThatWaitsForInputHearsOfACancel(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("double", nil)
	h.input(seq, 1)
	h.expect(wire.Item, seq)
	h.cancel(seq, "cancel")
	equal(t, h.failureOf(seq).Code, wire.Cancelled)
}

func TestStreamsBothWays(t *testing.T) {
	h := serving(t, nil)
	seq := h.call("double", nil)
	for number := range 10 {
		h.input(seq, number)
		frame := h.expect(wire.Item, seq)
		equal(t, h.value(&frame), int64(2*number))
	}
	h.send(h.data, wire.Frame{Kind: wire.InputEnd, Seq: seq})
	equal(t, h.resultOf(seq), nil)
}
