package session

import "ganger.dev/worker/internal/wire"

// An Outcome is what became of a stream's item.
type Outcome uint8

// The outcomes of an item.
const (
	// Queued: it will be written.
	Queued Outcome = iota
	// Wait: there is no credit; the producer waits for Credit or for a cancel.
	Wait
	// TooLarge: it has more bytes than the pool allows, and its call was answered so.
	TooLarge
	// Over: the call has ended.
	Over
)

// Item sends an item of a stream if there is credit for it (R29).
func (s *Session) Item(seq uint64, encoding wire.Encoding, payload []byte) Outcome {
	call := s.running[seq]
	switch {
	case call == nil:
		return Over
	case uint64(len(payload)) > s.maxPayload:
		s.Fail(seq, s.tooLarge(len(payload)))
		return TooLarge
	case call.creditItems <= 0 || call.creditBytes <= 0:
		return Wait
	}
	call.creditItems--
	call.creditBytes -= int64(len(payload))
	s.send(wire.Frame{Kind: wire.Item, Flags: wire.Flags(encoding), Seq: seq, Payload: payload})
	return Queued
}

// Read says that the function has taken an item of its input stream. Credit goes back by halves of the window, so that
// it costs few frames and the host still never waits for a function that reads.
func (s *Session) Read(seq uint64, length int) {
	call := s.running[seq]
	if call == nil {
		return
	}
	call.readItems++
	call.readBytes += uint64(length)
	if call.readItems >= streamItems/2 || call.readBytes >= streamBytes/2 {
		s.ControlOut = append(s.ControlOut, wire.CreditFrame(seq, call.readItems, call.readBytes))
		call.readItems, call.readBytes = 0, 0
	}
}

func (s *Session) credit(frame *wire.Frame) error {
	credit, err := wire.ReadCredit(frame.Body)
	if call := s.running[frame.Seq]; call != nil && err == nil {
		call.creditItems = add(call.creditItems, uint64(credit.Items))
		call.creditBytes = add(call.creditBytes, credit.Bytes)
		s.want(Credit{frame.Seq})
	}
	return err
}

// add never wraps round, whatever the host gives.
func add(credit int64, more uint64) int64 {
	const most = 1 << 62
	return min(credit+int64(min(more, most)), most)
}

// GiveBack says that nothing looks at a block any more that came with an item (R54).
func (s *Session) GiveBack(seq uint64, reference *wire.Reference) {
	if s.running[seq] != nil {
		s.send(wire.ReleaseFrame(seq, reference.Offset))
	}
}

// input takes INPUT, whole, or INPUT_END. What comes for a call that does not read it is ignored (R51, R52).
func (s *Session) input(frame *wire.Frame) error {
	call := s.running[frame.Seq]
	if call == nil || !call.reads || call.cancelled {
		return nil // or it ended while this was on its way
	}
	shared, err := s.shared(frame)
	if err != nil {
		return err
	}
	if frame.Kind == wire.InputEnd {
		call.reads = false
		s.want(InputEnd{frame.Seq})
	} else {
		s.want(Input{
			Seq: frame.Seq, Encoding: frame.Flags.Encoding(), Payload: frame.Payload, Shared: shared,
		})
	}
	return nil
}

// refuseItem asks a function to stop whose input stream cannot go on. Its call ends so whatever it answers (R53).
func (s *Session) refuseItem(seq uint64, call *running, report *wire.Report) {
	if !call.reads || call.cancelled {
		return
	}
	call.refused, call.cancelled = report, true
	s.want(Cancel{seq, "cancel"})
}
