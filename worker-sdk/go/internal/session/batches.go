package session

import (
	"fmt"
	"slices"

	"ganger.dev/worker/internal/wire"
)

// A batch is calls that their function is given together (R57). They gather until the last one has come.
type batch struct {
	first, last uint64
	runs        []Run
}

// batchOf is the batch that a call is in; nil if it comes alone.
func (s *Session) batchOf(seq uint64, call *wire.CallBody) (*batch, error) {
	gathering := s.gathering
	within := gathering != nil && seq >= gathering.first && seq <= gathering.last
	if call.Batch == nil || !s.batching[call.Function] {
		if within {
			return nil, fmt.Errorf("seq %d amid a batch that begins with %d", seq, gathering.first)
		}
		return nil, nil // it may be one whose pieces go between the calls of a batch
	}
	said := batch{first: call.Batch.First, last: call.Batch.First + uint64(call.Batch.Count) - 1}
	if gathering == nil && seq >= said.first && seq <= said.last {
		s.gathering = &said
		return &said, nil
	}
	if !within || said.first != gathering.first || said.last != gathering.last {
		return nil, fmt.Errorf("seq %d in a batch of %d that begins with %d", seq, call.Batch.Count, said.first)
	}
	return gathering, nil
}

// setGoing has the last call of a batch set it going, even if it is itself refused.
func (s *Session) setGoing(seq uint64) {
	gathering := s.gathering
	if gathering == nil || seq != gathering.last || s.phase == ending {
		return
	}
	s.gathering = nil
	if len(gathering.runs) > 0 {
		s.want(RunTogether{gathering.runs})
	}
	gathering.runs = nil
}

// cancelRunning lets a call of a batch go alone while others wait for an answer (R59); else its function is asked to stop.
func (s *Session) cancelRunning(seq uint64, call *running, reason string) {
	if s.leavesGathering(seq) || s.othersWait(call) {
		delete(s.running, seq)
		s.fail(seq, wire.NewReport(wire.Cancelled, "the call was cancelled"))
		s.stopIfIdle()
		return
	}
	if !call.cancelled {
		call.cancelled = true
		s.want(Cancel{seq, reason})
	}
}

// leavesGathering tells whether it was one of a batch that has not begun.
func (s *Session) leavesGathering(seq uint64) bool {
	if s.gathering == nil {
		return false
	}
	before := len(s.gathering.runs)
	s.gathering.runs = slices.DeleteFunc(s.gathering.runs, func(run Run) bool { return run.Seq == seq })
	return len(s.gathering.runs) < before
}

func (s *Session) othersWait(call *running) bool {
	if call.batch == nil {
		return false
	}
	for _, other := range s.running {
		if other != call && other.batch == call.batch && !other.cancelled {
			return true
		}
	}
	return false
}

// IsRunning tells whether a call still waits for its end.
func (s *Session) IsRunning(seq uint64) bool { return s.running[seq] != nil }

// ResultsMisfit says that a function gave more or fewer results than it got inputs (R58).
func ResultsMisfit(inputs, results int) *wire.Report {
	path := "$"
	report := wire.NewReport(wire.InvalidResult, fmt.Sprintf(
		"$: a batch of %d needs as many results, not %d", inputs, results))
	report.Path = &path
	return report
}
