// Package session is the worker's side of the protocol without IO, goroutines or clock: frames and reports go in,
// frames and effects come out. The transcripts of the protocol are its tests.
package session

import (
	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

const (
	streamItems = 64
	streamBytes = 4 << 20
)

// A Session is the state of one worker towards its host. Who holds it gives it what happened, then takes what it wants
// to be written and done. It is not safe for concurrent use.
type Session struct {
	phase     phase
	attaches  bool
	stopEarly bool
	exits     bool
	names     []string
	// readers are those of the names that read an input stream.
	readers map[string]bool
	// batching are those that take batches; gathering is the batch whose last call has not come.
	batching   map[string]bool
	gathering  *batch
	maxPayload uint64
	// arenas are nil unless both sides can share memory.
	arenas  *wire.SharedMemory
	chunks  wire.Chunks
	running map[uint64]*running
	// highest is the last seq of a call or ping that came (R7, R26).
	highest uint64
	// early are the cancels that came before their call did, or before its turn.
	early map[uint64]string
	turns turns

	// DataOut and ControlOut are frames to write.
	DataOut, ControlOut []wire.Frame
	// Effects are what else is wanted.
	Effects []Effect
}

type phase uint8

const (
	greeting phase = iota // HELLO is sent
	loading               // WELCOME came; the start-up hooks run
	serving               // READY is sent
	stopping              // STOP came; running calls end
	ending                // nothing matters any more
)

type running struct {
	cancelled bool
	// reads: it reads an input stream, whose end has not come.
	reads bool
	// refused is what the call ends with whatever its function says, if there is such a thing.
	refused *wire.Report
	// batch is the one that it is in, nil if it came alone.
	batch *batch
	// What the function may still send of its stream (R29).
	creditItems, creditBytes int64
	// What it has read of its input stream and given no credit for yet.
	readItems uint32
	readBytes uint64
}

// New is a session that has just said HELLO, after ATTACH on both lanes if it attaches.
func New(hello wire.HelloBody, attach *wire.AttachBody) *Session {
	s := &Session{
		maxPayload: wire.DefaultMaxPayload, running: map[uint64]*running{}, early: map[uint64]string{},
		readers: map[string]bool{}, batching: map[string]bool{}, attaches: attach != nil,
	}
	if attach != nil {
		s.DataOut = append(s.DataOut, attachFrame(*attach, wire.Data))
		s.ControlOut = append(s.ControlOut, attachFrame(*attach, wire.Control))
	}
	greeting := wire.Frame{Kind: wire.Hello, Body: messagepack.AppendBody(nil, hello)}
	s.ControlOut = append(s.ControlOut, greeting)
	return s
}

func attachFrame(attach wire.AttachBody, lane wire.Lane) wire.Frame {
	attach.Lane = lane.String()
	return wire.Frame{Kind: wire.Attach, Body: messagepack.AppendBody(nil, attach)}
}

// Loaded says that the start-up hooks have returned.
func (s *Session) Loaded(functions []wire.Contract) {
	if s.phase != loading {
		return
	}
	for index := range functions {
		s.names = append(s.names, functions[index].Name)
		s.readers[functions[index].Name] = functions[index].Inputs != nil
		s.batching[functions[index].Name] = functions[index].Batch != nil
	}
	s.send(wire.Frame{Kind: wire.Ready, Body: messagepack.AppendBody(nil, wire.ReadyBody{Functions: functions})})
	s.phase = serving
	if s.stopEarly {
		s.phase = stopping
	}
	s.stopIfIdle()
}

// LoadFailed says that one of them failed (R14).
func (s *Session) LoadFailed(report wire.Report) {
	report.Code = wire.StartFailed
	s.fail(0, &report)
	s.exit(1, "")
}

// HooksDone says that the shutdown hooks have returned.
func (s *Session) HooksDone() { s.exit(0, "") }

// End says that a lane has ended: the host is gone (R1). A worker that exits already does so with its own code.
func (s *Session) End() {
	if s.attaches && s.phase == greeting {
		// For the person who attaches by hand.
		s.exit(1, "cannot attach: the pool let this worker go at once; is the token right?")
	}
	s.phase = ending
	if !s.exits {
		s.want(Vanish{})
	}
}

// Return ends a call with a result. What is not running any more is ignored: a call has one end (R8).
func (s *Session) Return(seq uint64, encoding wire.Encoding, payload []byte) {
	call := s.remove(seq)
	if call == nil {
		return
	}
	switch {
	case call.refused != nil:
		s.fail(seq, call.refused)
	case uint64(len(payload)) > s.maxPayload:
		s.fail(seq, s.tooLarge(len(payload)))
	default:
		s.answer(wire.Frame{Kind: wire.Result, Flags: wire.Flags(encoding), Seq: seq, Payload: payload})
	}
	s.stopIfIdle()
}

// ReturnShared ends a call with a result that lies in shared memory. It tells whether anybody hears of it.
func (s *Session) ReturnShared(seq uint64, encoding wire.Encoding, reference *wire.Reference) bool {
	call := s.remove(seq)
	if call == nil {
		return false
	}
	if call.refused != nil {
		s.fail(seq, call.refused)
		s.stopIfIdle()
		return false
	}
	flags := wire.Flags(encoding) | wire.Shared
	s.answer(wire.Frame{Kind: wire.Result, Flags: flags, Seq: seq, Payload: reference.Append(nil)})
	s.stopIfIdle()
	return true
}

// Fail ends a call with an error.
func (s *Session) Fail(seq uint64, report *wire.Report) {
	call := s.remove(seq)
	if call == nil {
		return
	}
	if call.refused != nil {
		report = call.refused
	}
	s.fail(seq, report)
	s.stopIfIdle()
}

// Stopped ends a call with an error that says that it was asked to stop, if it was.
func (s *Session) Stopped(seq uint64, report *wire.Report) {
	if call := s.running[seq]; call != nil && call.cancelled {
		stopped := *report
		stopped.Code = wire.Cancelled
		report = &stopped
	}
	s.Fail(seq, report)
}

// Say sends LOG or PROGRESS of a running call, or LOG of none (R38), and tells whether anybody hears of it.
func (s *Session) Say(kind wire.Kind, seq uint64, body []byte) bool {
	// A record that is too long for a frame is lost; a frame that is too long would end the worker.
	heard := (seq == 0 || s.running[seq] != nil) && len(body) <= wire.MaxBody
	if heard {
		s.send(wire.Frame{Kind: kind, Seq: seq, Body: body})
	}
	return heard
}

func (s *Session) remove(seq uint64) *running {
	call := s.running[seq]
	if call != nil {
		delete(s.running, seq)
		s.chunks.Abandon(seq) // an input item may be under way
	}
	return call
}

func (s *Session) stopIfIdle() {
	if s.phase == stopping && len(s.running) == 0 && !s.chunks.HoldCalls() && len(s.turns.line) == 0 {
		// Calls are over, but the hooks may log: nothing that comes matters, what goes still does.
		s.phase = ending
		s.want(Shutdown{})
	}
}

func (s *Session) fail(seq uint64, report *wire.Report) {
	s.answer(wire.Frame{Kind: wire.Error, Seq: seq, Body: messagepack.AppendBody(nil, report)})
}

func (s *Session) tooLarge(length int) *wire.Report {
	return wire.NewReport(wire.PayloadTooLarge, (&sent{length, s.maxPayload}).String())
}

func (s *Session) send(frame wire.Frame) { s.DataOut = append(s.DataOut, frame) }

func (s *Session) want(effect Effect) { s.Effects = append(s.Effects, effect) }

func (s *Session) exit(code int, complaint string) {
	if s.exits {
		return
	}
	s.phase, s.exits = ending, true
	s.want(Exit{Code: code, Complaint: complaint})
}
