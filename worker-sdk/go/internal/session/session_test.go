package session

import (
	"testing"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

// serving is a session that runs calls of one function, with nothing left to take.
func served(t *testing.T, maxPayload uint64) *Session {
	t.Helper()
	s := New(wire.HelloBody{}, nil)
	welcome := messagepack.AppendBody(nil, map[string]any{"version": wire.Version, "max_payload": maxPayload})
	s.Receive(wire.Control, wire.Frame{Kind: wire.Welcome, Body: welcome})
	s.Loaded([]wire.Contract{{Name: "add", Kind: "value"}})
	s.DataOut, s.ControlOut, s.Effects = nil, nil, nil
	return s
}

func call(seq uint64, flags wire.Flags, payload string) wire.Frame {
	body := messagepack.AppendBody(nil, []any{"add"})
	return wire.Frame{Kind: wire.Call, Flags: flags, Seq: seq, Body: body, Payload: []byte(payload)}
}

func wants[E Effect](t *testing.T, s *Session) E {
	t.Helper()
	for _, effect := range s.Effects {
		if found, is := effect.(E); is {
			return found
		}
	}
	t.Fatalf("only %v", s.Effects)
	panic("not reached")
}

func answers(t *testing.T, s *Session, code string) {
	t.Helper()
	if len(s.DataOut) != 1 {
		t.Fatalf("sends %v", s.DataOut)
	}
	var report wire.Report
	if err := messagepack.DecodeBody(s.DataOut[0].Body, &report); err != nil || report.Code != code {
		t.Fatalf("%+v, %v, want %s", report, err, code)
	}
}

func TestAStopWaitsForACallWhoseChunksAreUnderWay(t *testing.T) {
	s := served(t, 100)
	s.Receive(wire.Data, call(1, wire.More, "\x02\x00\x00\x00\x00\x00\x00\x00\x91"))
	s.Receive(wire.Data, wire.Frame{Kind: wire.Stop})
	if len(s.Effects) > 0 {
		t.Fatalf("wants %v", s.Effects)
	}
	cancel := messagepack.AppendBody(nil, []any{"stop"})
	s.Receive(wire.Control, wire.Frame{Kind: wire.Cancel, Seq: 1, Body: cancel})
	answers(t, s, wire.Cancelled)
	wants[Shutdown](t, s)
}

func TestACallInPiecesThatIsTooLargeFailsAloneAndItsPiecesAreIgnored(t *testing.T) {
	s := served(t, 4)
	s.Receive(wire.Data, call(1, wire.More, "\x09\x00\x00\x00\x00\x00\x00\x00\x91"))
	answers(t, s, wire.PayloadTooLarge)
	s.Receive(wire.Data, wire.Frame{Kind: wire.Chunk, Seq: 1, Payload: []byte("x")})
	s.Receive(wire.Data, call(2, 0, "\x01"))
	if run := wants[Run](t, s); run.Seq != 2 || len(s.Effects) != 1 {
		t.Fatalf("wants %v", s.Effects)
	}
}

func TestAnInputItemThatIsTooLargeEndsItsCall(t *testing.T) {
	s := served(t, 4)
	s.readers["add"] = true
	s.Receive(wire.Data, call(1, 0, "\x01"))
	s.Refuse(&wire.TooLarge{Kind: wire.Input, Seq: 1, Length: 9, Limit: 4})
	wants[Cancel](t, s)
	if len(s.DataOut) != 0 {
		t.Fatal("it ends when its function has")
	}
	s.Return(1, wire.MessagePack, []byte{0})
	answers(t, s, wire.PayloadTooLarge)
}

func TestReadingGivesCreditByHalvesOfTheWindow(t *testing.T) {
	s := served(t, 1<<30)
	s.Receive(wire.Data, call(1, 0, "\x01"))
	for range streamItems/2 - 1 {
		s.Read(1, 10)
	}
	if len(s.ControlOut) > 0 {
		t.Fatal("too early")
	}
	s.Read(1, 10)
	s.Read(1, streamBytes)
	for index, want := range []wire.CreditBody{{Items: 32, Bytes: 320}, {Items: 1, Bytes: streamBytes}} {
		if got, err := wire.ReadCredit(s.ControlOut[index].Body); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	s.Return(1, wire.MessagePack, []byte{0})
	s.Read(1, streamBytes)
	if len(s.ControlOut) != 2 {
		t.Error("credit for a call that has ended")
	}
}

func TestBytesMayTurnCreditNegativeOnce(t *testing.T) {
	s := served(t, 1<<30)
	s.Receive(wire.Data, call(1, 0, "\x01"))
	if s.Item(1, wire.Raw, make([]byte, streamBytes+1)) != Queued || s.Item(1, wire.Raw, nil) != Wait {
		t.Fatal("an item goes while both credits are positive, and none after")
	}
	credit := wire.CreditFrame(1, 0, 1)
	s.Receive(wire.Control, credit)
	if s.Item(1, wire.Raw, nil) != Wait {
		t.Fatal("the credit is nought")
	}
	s.Receive(wire.Control, wire.CreditFrame(1, 1<<32-1, 1<<64-1))
	if s.Item(1, wire.Raw, nil) != Queued {
		t.Fatal("there is credit")
	}
}

func TestOnlyACallThatWasCancelledIsReportedSo(t *testing.T) {
	s := served(t, 100)
	s.Receive(wire.Data, call(1, 0, "\x01"))
	s.Stopped(1, wire.NewReport(wire.CallFailed, "context canceled"))
	answers(t, s, wire.CallFailed)
}

func TestTheNearestNameIsFoundAndAFarOneIsNot(t *testing.T) {
	known := []string{"convert", "prices.convert", "echo"}
	for wanted, want := range map[string]string{
		"convrt": "convert", "prices.konvert": "prices.convert", "ecko": "echo", "thumbnail": "", "": "",
	} {
		if got := nearest(wanted, known); got != want {
			t.Errorf("%q for %q", got, wanted)
		}
	}
}

type noClaims struct{}

func (noClaims) Claim() bool { return false }

// The host may hear an answer, and send the next call, before the goroutine that wrote the answer notes that it has.
func TestWhatBelongsToACallIsNotLostIfTheAnswerBeforeItIsNotNotedYet(t *testing.T) {
	s := served(t, 1<<30)
	s.readers["add"] = true
	s.ClaimFrom(noClaims{})
	s.Receive(wire.Data, call(1, 0, "\x01"))
	s.Return(1, wire.MessagePack, []byte{0xc0})
	if s.NewAnswers() != 1 {
		t.Fatal("no answer that has to be written")
	}
	s.Effects = nil
	s.Receive(wire.Data, call(2, 0, "\x01"))
	s.Receive(wire.Data, wire.Frame{Kind: wire.Input, Seq: 2, Payload: []byte{1}})
	s.Receive(wire.Data, wire.Frame{Kind: wire.InputEnd, Seq: 2})
	wants[Run](t, s)
	wants[Input](t, s)
	wants[InputEnd](t, s)
}
