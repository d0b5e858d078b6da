package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ganger.dev/worker"
)

// made counts what numbers has made since it was asked before.
var made atomic.Int64

func streams() []worker.Part {
	return []worker.Part{
		worker.StreamFunction("numbers", numbers),
		worker.Function("made", func(context.Context, worker.None) (int64, error) { return made.Swap(0), nil }),
		worker.InputFunction("sum", sum),
		worker.InputFunction("first", first),
		worker.DuplexFunction("mirror", mirror),
		worker.StreamFunction("fail_after", func(ctx context.Context, to int, items *worker.Stream[int]) error {
			return errors.Join(count(ctx, to, items), errors.New("that is all"))
		}),
		worker.StreamFunction("die_after", func(ctx context.Context, to int, items *worker.Stream[int]) error {
			// What was sent is written by others: give them the time.
			return errors.Join(count(ctx, to, items), pause(ctx), die())
		}),
		worker.StreamFunction("wait_after", func(ctx context.Context, to int, items *worker.Stream[int]) error {
			if err := count(ctx, to, items); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}),
		worker.Function("steps", steps),
	}
}

func numbers(_ context.Context, to int, items *worker.Stream[int]) error {
	for n := range to {
		made.Add(1)
		if err := items.Send(n); err != nil {
			return err
		}
	}
	return nil
}

func sum(_ context.Context, start int, items *worker.Inputs[int]) (int, error) {
	for number, err := range items.All() {
		if err != nil {
			return 0, err
		}
		start += number
	}
	return start, nil
}

func first(_ context.Context, count int, items *worker.Inputs[any]) (found []any, err error) {
	for range count {
		item, err := items.Next()
		if err != nil {
			return nil, err
		}
		found = append(found, item)
	}
	return found, nil
}

func mirror(_ context.Context, _ worker.None, items *worker.Inputs[any], back *worker.Stream[any]) error {
	for item, err := range items.All() {
		if err != nil {
			return err
		}
		if err := back.Send(item); err != nil {
			return err
		}
	}
	return nil
}

func steps(ctx context.Context, count int) (int, error) {
	for step := 1; step <= count; step++ {
		worker.From(ctx).Progress(float64(step), float64(count), fmt.Sprintf("step %d", step))
	}
	return count, nil
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
	return nil
}
