package session

import (
	"errors"
	"fmt"

	"ganger.dev/worker/internal/wire"
)

// Receive takes a frame from the host.
func (s *Session) Receive(lane wire.Lane, frame wire.Frame) {
	if s.phase == ending {
		return
	}
	var err error
	switch {
	case !frame.Kind.MayReachWorker(lane):
		err = fmt.Errorf("a %s frame to a worker on the %s lane", frame.Kind, lane)
	case lane == wire.Data:
		err = s.receiveData(frame)
	default:
		err = s.receiveControl(&frame)
	}
	if err != nil {
		s.Refuse(err)
	}
}

// Refuse takes what is wrong with the host's bytes.
func (s *Session) Refuse(err error) {
	var tooLarge *wire.TooLarge
	if s.phase == ending {
		return
	}
	if errors.As(err, &tooLarge) {
		s.refuseTooLarge(tooLarge)
		return
	}
	s.exit(wire.ViolationExit, err.Error())
}

// refuseTooLarge fails the one call whose input is too large (R6).
func (s *Session) refuseTooLarge(tooLarge *wire.TooLarge) {
	seq := tooLarge.Seq
	s.chunks.Ignore(seq)
	underWay := s.chunks.Abandon(seq)
	report := wire.NewReport(wire.PayloadTooLarge, tooLarge.Error())
	if call := s.running[seq]; call != nil {
		s.refuseItem(seq, call, report)
		return
	}
	if tooLarge.Kind == wire.Call {
		s.highest = max(seq, s.highest)
		s.wasCancelled(seq)
		underWay = true
	}
	if underWay {
		s.fail(seq, report)
		s.setGoing(seq)
		s.stopIfIdle()
	}
}

func (s *Session) receiveData(frame wire.Frame) error {
	switch frame.Kind {
	case wire.Stop:
		return s.stop(&frame)
	case wire.Release:
		offsets, err := wire.ReadRelease(frame.Body)
		s.want(Released{offsets})
		return err
	case wire.Call, wire.Ping:
		return s.receiveNumbered(frame)
	}
	if s.phase < serving {
		return fmt.Errorf("a %s frame out of order", frame.Kind)
	}
	return s.join(frame)
}

// receiveNumbered takes a frame whose seq must rise.
func (s *Session) receiveNumbered(frame wire.Frame) error {
	if s.phase != serving {
		return fmt.Errorf("a %s frame out of order", frame.Kind)
	}
	if frame.Seq <= s.highest {
		return fmt.Errorf("seq %d after %d", frame.Seq, s.highest)
	}
	s.highest = frame.Seq
	switch {
	case frame.Kind == wire.Ping:
		s.wasCancelled(frame.Seq)
		s.send(wire.Frame{Kind: wire.Pong, Seq: frame.Seq})
		return nil
	case s.turns.claims != nil:
		return s.lineUp(&frame)
	default:
		return s.takeUp(&frame)
	}
}

// takeUp begins a call whose turn it is, unless it was cancelled before.
func (s *Session) takeUp(frame *wire.Frame) (err error) {
	if s.wasCancelled(frame.Seq) {
		if frame.Flags&wire.More != 0 {
			s.chunks.Ignore(frame.Seq)
		}
		s.answerCancelled(frame.Seq)
	} else if err = s.join(*frame); errors.As(err, new(*wire.TooLarge)) {
		s.Refuse(err)
		err = nil
	}
	s.setGoing(frame.Seq)
	return err
}

// wasCancelled tells whether a cancel came before a call. What was remembered for earlier ones, which do not wait in the
// line either, can never come now.
func (s *Session) wasCancelled(seq uint64) bool {
	_, cancelled := s.early[seq]
	for other := range s.early {
		if other <= seq && !s.waits(other) {
			delete(s.early, other)
		}
	}
	return cancelled
}

func (s *Session) join(frame wire.Frame) error {
	if frame.Flags&wire.Shared != 0 && frame.Flags&wire.More != 0 {
		return fmt.Errorf("a reference to shared memory in pieces")
	}
	whole, err := s.chunks.Take(frame, s.maxPayload)
	if err != nil || whole == nil {
		return err
	}
	if whole.Kind == wire.Call {
		return s.begin(whole)
	}
	return s.input(whole)
}

// shared is where in the input arena a payload lies, nil if it is in the frame (R43). One that is too long is a *wire.TooLarge.
func (s *Session) shared(frame *wire.Frame) (*wire.Reference, error) {
	if frame.Flags&wire.Shared == 0 {
		return nil, nil
	}
	if s.arenas == nil {
		return nil, fmt.Errorf("a reference to shared memory that was not agreed on")
	}
	reference, err := wire.ReadReference(frame.Payload)
	switch {
	case err != nil:
		return nil, err
	case !reference.IsWithin(wire.InputArena, s.arenas.InputSize):
		return nil, fmt.Errorf("a reference to memory that is not the host's to refer to")
	case reference.Length > s.maxPayload:
		return nil, &wire.TooLarge{Kind: frame.Kind, Seq: frame.Seq, Length: reference.Length, Limit: s.maxPayload}
	}
	return reference, nil
}

func (s *Session) begin(frame *wire.Frame) error {
	call, err := wire.ReadCall(frame.Body)
	if err != nil {
		return err
	}
	batch, err := s.batchOf(frame.Seq, &call)
	if err != nil {
		return err
	}
	shared, err := s.shared(frame)
	if err != nil {
		return err
	}
	if report := s.unfit(frame, &call); report != nil {
		s.fail(frame.Seq, report)
		s.stopIfIdle()
		return nil
	}
	reads := s.readers[call.Function]
	s.running[frame.Seq] = &running{
		reads: reads, creditItems: streamItems, creditBytes: streamBytes, batch: batch,
	}
	run := Run{
		Seq: frame.Seq, Call: call, Encoding: frame.Flags.Encoding(), Payload: frame.Payload, Shared: shared,
	}
	if batch != nil {
		batch.runs = append(batch.runs, run)
	} else {
		s.want(run)
	}
	return nil
}

// unfit says why a call cannot run, if it cannot.
func (s *Session) unfit(frame *wire.Frame, call *wire.CallBody) *wire.Report {
	if !s.has(call.Function) {
		return wire.NewReport(wire.NoSuchFunction, s.unknown(call.Function))
	}
	switch encoding := frame.Flags.Encoding(); {
	case encoding == wire.Pickle:
		return wire.NewReport(wire.InvalidInput, "the input is pickled, which only Python workers read")
	case encoding != wire.MessagePack && encoding != wire.Raw:
		return wire.NewReport(wire.InvalidInput, "the encoding of the input is unknown")
	}
	return nil
}

func (s *Session) answerCancelled(seq uint64) {
	s.fail(seq, wire.NewReport(wire.Cancelled, "the call was cancelled before it started"))
}

func (s *Session) stop(frame *wire.Frame) error {
	if _, err := wire.ReadStop(frame.Body); err != nil {
		return err
	}
	switch s.phase {
	case greeting, loading:
		s.stopEarly = true // on its own lane it may be read even before WELCOME
	case serving:
		s.phase = stopping
	}
	s.stopIfIdle()
	return nil
}
