package worker

import (
	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// An end is the outcome of one call.
type end struct {
	seq     uint64
	outcome outcome
	// shared is where its result lies in shared memory, if it does.
	shared *wire.Reference
}

func (e *engine) finish(seq uint64, outcome *outcome) {
	ended := end{seq: seq, outcome: *outcome}
	e.layOut(&ended)
	e.step(func(s *session.Session) { e.end(s, &ended) })
}

// finishEach ends several calls in one piece.
func (e *engine) finishEach(ends []end) {
	for index := range ends {
		e.layOut(&ends[index])
	}
	e.step(func(s *session.Session) {
		for index := range ends {
			e.end(s, &ends[index])
		}
	})
}

// layOut puts a result into shared memory, if it is one that goes there.
func (e *engine) layOut(ended *end) {
	if ended.outcome.report == nil && e.arenas != nil {
		ended.shared = e.arenas.Write(ended.outcome.payload)
	}
}

// end is called under the lock.
func (e *engine) end(s *session.Session, ended *end) {
	delete(e.calls, ended.seq)
	switch outcome := &ended.outcome; {
	case ended.shared != nil:
		if !s.ReturnShared(ended.seq, outcome.encoding, ended.shared) {
			e.arenas.Release(ended.shared.Offset)
		}
	case outcome.report == nil:
		s.Return(ended.seq, outcome.encoding, outcome.payload)
	case outcome.stopped:
		s.Stopped(ended.seq, outcome.report)
	default:
		s.Fail(ended.seq, outcome.report)
	}
}
