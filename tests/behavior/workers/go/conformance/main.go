// The functions that `ganger check` looks for, in Go (SPEC chapter 11).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"ganger.dev/worker"
)

type numbered struct {
	Number int `json:"number"`
}

type counted struct {
	Count int  `json:"count"`
	Bytes int  `json:"bytes"`
	Fail  bool `json:"fail"`
}

type asked struct {
	Number int  `json:"number"`
	Fail   bool `json:"fail"`
	Wait   bool `json:"wait"`
	Short  bool `json:"short" ganger:"optional"`
}

type ended struct {
	Number int `json:"number"`
	Of     int `json:"of"`
}

type told struct {
	Attempt     int               `json:"attempt"`
	RemainingMs *float64          `json:"remaining_ms"`
	Trace       map[string]string `json:"trace"`
}

func main() {
	worker.Run(
		worker.Startup(start),
		worker.Shutdown(func(context.Context) error {
			fmt.Println("shutdown")
			return nil
		}),
		worker.Function("check_hooks", func(context.Context, worker.None) (worker.None, error) { return worker.None{}, nil }),
		worker.Function("check_echo", func(_ context.Context, value any) (any, error) { return value, nil }),
		worker.Function("check_bytes", func(_ context.Context, count int) ([]byte, error) { return make([]byte, count), nil }),
		worker.Function("check_fail", func(_ context.Context, text string) (worker.None, error) {
			return worker.None{}, errors.New(text)
		}),
		worker.Function("check_number", func(_ context.Context, in numbered) (int, error) { return in.Number, nil }),
		worker.Function("check_odd", func(context.Context, worker.None) (any, error) { return make(chan int), nil }),
		worker.Function("check_context", tell),
		worker.Function("check_say", say),
		worker.Function("check_wait", wait),
		worker.Function("check_exit", func(_ context.Context, code int) (worker.None, error) {
			os.Exit(code)
			return worker.None{}, nil
		}),
		worker.StreamFunction("check_count", count),
		worker.InputFunction("check_sum", sum),
		worker.BatchFunction("check_batch", 4, 0, batch),
	)
}

func start(ctx context.Context) error {
	worker.From(ctx).Log().Info("start-up")
	if os.Getenv("GANGER_CHECK") == "fail" {
		return errors.New("told to fail")
	}
	return nil
}

func tell(ctx context.Context, _ worker.None) (told, error) {
	call := worker.From(ctx)
	answer := told{Attempt: call.Attempt(), Trace: call.Trace()}
	if left, limited := call.Remaining(); limited {
		milliseconds := left.Seconds() * 1000
		answer.RemainingMs = &milliseconds
	}
	return answer, nil
}

func say(ctx context.Context, text string) (worker.None, error) {
	worker.From(ctx).Log().Warn(text)
	worker.From(ctx).Progress(1, 2, "half")
	fmt.Println(text)
	return worker.None{}, nil
}

// wait waits for a minute at most.
func wait(ctx context.Context, _ worker.None) (worker.None, error) {
	worker.From(ctx).Progress(0, 0, "")
	select {
	case <-time.After(time.Minute):
		return worker.None{}, nil
	case <-ctx.Done():
		return worker.None{}, ctx.Err()
	}
}

func count(_ context.Context, in counted, items *worker.Stream[any]) error {
	for number := range in.Count {
		var item any = number
		if in.Bytes > 0 {
			item = make([]byte, in.Bytes)
		}
		if err := items.Send(item); err != nil {
			return err
		}
	}
	if in.Fail {
		return errors.New("no more")
	}
	return nil
}

func sum(_ context.Context, _ worker.None, numbers *worker.Inputs[int]) (total int, err error) {
	for number, err := range numbers.All() {
		if err != nil {
			return 0, err
		}
		total += number
	}
	return total, nil
}

// another is closed when a batch comes in which nobody waits.
var another atomic.Value

func batch(ctx context.Context, all []asked) ([]ended, error) {
	if slices.ContainsFunc(all, func(in asked) bool { return in.Wait }) {
		if err := waitForAnother(ctx); err != nil {
			return nil, err
		}
	} else if came, waits := another.Swap((chan struct{})(nil)).(chan struct{}); waits && came != nil {
		close(came)
	}
	ends, failures := make([]ended, len(all)), worker.Failures{}
	for place, in := range all {
		ends[place] = ended{in.Number, len(all)}
		if in.Fail {
			failures[place] = fmt.Errorf("%d fails", in.Number)
		}
	}
	if slices.ContainsFunc(all, func(in asked) bool { return in.Short }) {
		ends = ends[1:]
	}
	return ends, failures
}

func waitForAnother(ctx context.Context) error {
	came := make(chan struct{})
	another.Store(came)
	worker.From(ctx).Progress(0, 0, "")
	select {
	case <-came:
		return nil
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
