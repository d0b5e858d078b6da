package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// Failures are the errors of single calls of a batch, by the places of their inputs. A BatchFunction returns them beside its
// results; those at their places are dropped.
type Failures map[int]error

func (f Failures) Error() string { return fmt.Sprintf("%d calls of a batch failed", len(f)) }

// A together reads the inputs of calls that came together, runs the function once and ends each call.
type together func(ctx context.Context, runs []session.Run, call *Call)

// BatchFunction offers a function that takes the inputs of several calls at once, most of them at most, and gives as many results, in their
// order. A call waits for others no longer than wait, and not at all where no worker has room for it.
//
// Each call ends for itself. A wrong input never reaches the function; an error is that of every call, but Failures are
// those of single ones; who gives up is let go while the others run. The context is that of all: it is cancelled when nobody
// waits any more, and its progress is told to each.
func BatchFunction[In, Out any](
	name string, most uint32, wait time.Duration, run func(context.Context, []In) ([]Out, error), options ...Option,
) Part {
	made := newOffer[In, Out](name, options, nil)
	if most < 1 || wait < 0 {
		made.refuse(fmt.Errorf("a batch of %d calls that wait for %s", most, wait))
	}
	made.contract.Batch = &wire.Batch{Max: most, WaitMS: uint64(wait.Milliseconds())}
	made.together = func(ctx context.Context, runs []session.Run, call *Call) {
		seqs, inputs := readAll[In](runs, call.engine)
		if len(inputs) == 0 {
			return
		}
		results, err := run(ctx, inputs)
		call.engine.finishEach(endsOf(seqs, results, err))
	}
	return made
}

// readAll gives the inputs that fit, and whose they are. The others have their answer.
func readAll[In any](runs []session.Run, e *engine) (seqs []uint64, inputs []In) {
	for index := range runs {
		input, misfit := decodeInput[In](&runs[index])
		if misfit != nil {
			e.finish(runs[index].Seq, &outcome{report: misfit})
			continue
		}
		seqs, inputs = append(seqs, runs[index].Seq), append(inputs, input)
	}
	return seqs, inputs
}

// endsOf is how each call ends whose input the function was given (R58).
func endsOf[Out any](seqs []uint64, results []Out, err error) []end {
	var failures Failures
	if err != nil && !errors.As(err, &failures) {
		return endsAlike(seqs, failed(err))
	}
	misplaced := false
	for place := range failures {
		misplaced = misplaced || place < 0 || place >= len(seqs)
	}
	if len(results) != len(seqs) || misplaced {
		return endsAlike(seqs, outcome{report: session.ResultsMisfit(len(seqs), len(results))})
	}
	ends := make([]end, len(seqs))
	for place, seq := range seqs {
		if failure := failures[place]; failure != nil {
			ends[place] = end{seq: seq, outcome: failed(failure)}
		} else {
			ends[place] = end{seq: seq, outcome: encodeOutput(results[place])}
		}
	}
	return ends
}

func endsAlike(seqs []uint64, alike outcome) []end {
	ends := make([]end, len(seqs))
	for place, seq := range seqs {
		ends[place] = end{seq: seq, outcome: alike}
	}
	return ends
}

// newBatchCall is what the function of calls sees that run together: the first of them, and the longest of their limits.
func newBatchCall(e *engine, runs []session.Run) *Call {
	about := runs[0]
	for index := range runs {
		limit := runs[index].Call.TimeoutMS
		if limit == nil || about.Call.TimeoutMS == nil {
			about.Call.TimeoutMS = nil
		} else if *limit > *about.Call.TimeoutMS {
			about.Call.TimeoutMS = limit
		}
	}
	call := newCall(e, &about)
	call.seqs = nil
	for index := range runs {
		call.seqs = append(call.seqs, runs[index].Seq)
	}
	return call
}

// runTogether runs a batch to its end, whatever its function does.
func (e *engine) runTogether(ctx context.Context, release func(), call *Call, runs []session.Run) {
	returned := false
	defer func() {
		release()
		if !returned {
			// Those that have ended stay as they are.
			e.finishEach(endsAlike(call.seqs, outcome{report: panicReport(recover())}))
		}
	}()
	e.together[call.function](ctx, e.present(runs), call)
	returned = true
}

// present are the calls whose input is here; those that were cancelled before now have had their answer (R58).
func (e *engine) present(runs []session.Run) (here []session.Run) {
	for index := range runs {
		run := &runs[index]
		e.mu.Lock()
		waits := e.session.IsRunning(run.Seq)
		if !waits {
			delete(e.calls, run.Seq)
		}
		e.mu.Unlock()
		if !waits {
			continue
		}
		if misfit := e.bringIn(run.Shared, &run.Payload); misfit != nil {
			e.finish(run.Seq, &outcome{report: misfitOf(wire.InvalidInput, misfit)})
			continue
		}
		here = append(here, *run)
	}
	return here
}
