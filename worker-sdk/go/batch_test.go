package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ganger.dev/worker"
	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

var released = make(chan struct{})

func batches() []worker.Part {
	return []worker.Part{
		worker.BatchFunction("squares", 4, 10*time.Millisecond, squares, worker.Idempotent(true)),
		worker.BatchFunction("linger", 3, 0, linger),
		worker.Function("release", func(context.Context, worker.None) (worker.None, error) {
			close(released)
			return worker.None{}, nil
		}),
		worker.BatchFunction("too_few", 8, 0, func(_ context.Context, numbers []int) ([]int, error) {
			return numbers[1:], nil
		}),
		worker.BatchFunction("misplaced", 8, 0, func(_ context.Context, numbers []int) ([]int, error) {
			return numbers, worker.Failures{len(numbers): errors.New("of nobody")}
		}),
		worker.BatchFunction("panics", 2, 0, func(context.Context, []int) ([]int, error) { panic("all of it") }),
	}
}

// squares are how many came together, and the square of each. One that is negative fails alone.
func squares(_ context.Context, numbers []int) ([][2]int, error) {
	results, failures := make([][2]int, len(numbers)), worker.Failures{}
	for place, number := range numbers {
		if number == 13 {
			return nil, errors.New("an unlucky batch")
		}
		if number < 0 {
			failures[place] = fmt.Errorf("%d is negative", number)
		}
		results[place] = [2]int{len(numbers), number * number}
	}
	return results, failures
}

// linger waits until it is released, or nobody waits any more.
func linger(ctx context.Context, numbers []int) ([]int, error) {
	worker.From(ctx).Log().Info("they linger")
	worker.From(ctx).Progress(0, 0, "")
	select {
	case <-released:
		return numbers, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// together sends calls of one function as a batch.
func (h *host) together(function string, inputs ...any) (seqs []uint64) {
	h.t.Helper()
	first := h.seq + 1
	for _, input := range inputs {
		seqs = append(seqs, h.call(function, input, 1, nil, 0, nil, []any{first, len(inputs)}))
	}
	return seqs
}

func (h *host) lingering() []uint64 {
	h.t.Helper()
	seqs := h.together("linger", 1, 2, 3)
	h.expect(wire.Log, seqs[0])
	for _, seq := range seqs {
		h.expect(wire.Progress, seq)
	}
	return seqs
}

func TestABatchIsInTheContract(t *testing.T) {
	h := start(t, "functions", nil)
	frame := h.expect(wire.Ready, 0)
	var ready wire.ReadyBody
	if err := messagepack.DecodeBody(frame.Body, &ready); err != nil {
		t.Fatal(err)
	}
	for _, contract := range ready.Functions {
		if contract.Name == "squares" {
			equal(t, *contract.Batch, wire.Batch{Max: 4, WaitMS: 10})
			equal(t, contract.Input, values{"type": "integer"})
			equal(t, contract.Idempotent, true)
			return
		}
	}
	t.Fatal("no squares")
}

func TestCallsOfABatchRunTogetherAndEachHasAnEndOfItsOwn(t *testing.T) {
	h := serving(t, nil)
	seqs := h.together("squares", 2, "two", -3, 4)
	misfit := h.failureOf(seqs[1])
	equal(t, []any{misfit.Code, *misfit.Path}, []any{wire.InvalidInput, "$"})
	equal(t, h.resultOf(seqs[0]), []any{int64(3), int64(4)})
	failure := h.failureOf(seqs[2])
	equal(t, []any{failure.Code, failure.Message}, []any{wire.CallFailed, "-3 is negative"})
	equal(t, h.resultOf(seqs[3]), []any{int64(3), int64(16)})
	equal(t, h.result("squares", 5), []any{int64(1), int64(25)})
}

func TestWhatGoesWrongWithAllIsToldToEveryCall(t *testing.T) {
	h := serving(t, nil)
	for _, seq := range h.together("squares", 12, 13) {
		equal(t, h.failureOf(seq).Message, "an unlucky batch")
	}
	for _, function := range []string{"too_few", "misplaced"} {
		for _, seq := range h.together(function, 1, 2) {
			report := h.failureOf(seq)
			equal(t, []any{report.Code, *report.Path}, []any{wire.InvalidResult, "$"})
		}
	}
	for _, seq := range h.together("panics", 1, 2) {
		report := h.failureOf(seq)
		equal(t, []any{report.Code, report.Message}, []any{wire.CallFailed, "all of it"})
	}
	for _, seq := range h.together("panics", nil, nil) {
		equal(t, h.failureOf(seq).Code, wire.InvalidInput)
	}
}

func TestWhoGivesUpIsLetGoAloneAndTheFunctionStopsWithTheLast(t *testing.T) {
	h := serving(t, values{"concurrency": 1})
	seqs := h.lingering()
	for _, seq := range []uint64{seqs[0], seqs[2], seqs[1]} {
		h.cancel(seq, "cancel")
		equal(t, h.failureOf(seq).Code, wire.Cancelled)
	}
	equal(t, h.result("squares", 3), []any{int64(1), int64(9)})
	h.stop()
	equal(t, h.exitCode(), 0)
}

func TestTheResultOfWhoWasLetGoIsDropped(t *testing.T) {
	h := serving(t, nil)
	seqs := h.lingering()
	h.cancel(seqs[1], "timeout")
	equal(t, h.failureOf(seqs[1]).Code, wire.Cancelled)
	h.result("release", nil)
	equal(t, []any{h.resultOf(seqs[0]), h.resultOf(seqs[2])}, []any{int64(1), int64(3)})
	h.stop()
	equal(t, h.exitCode(), 0)
	ends := 0
	for _, frame := range h.kept {
		if frame.Seq == seqs[1] && (frame.Kind == wire.Result || frame.Kind == wire.Error) {
			ends++
		}
	}
	equal(t, ends, 0)
}
