// The functions of the behaviour suite, in Go.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"ganger.dev/worker"
)

type terms struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

func main() {
	worker.Run(append(append(streams(), batches()...),
		worker.Function("echo", func(_ context.Context, value any) (any, error) { return value, nil }),
		worker.Function("add", func(_ context.Context, in terms) (float64, error) { return in.A + in.B, nil }),
		worker.StreamFunction("count", count),
		worker.Function("pid", func(context.Context, worker.None) (int, error) { return os.Getpid(), nil }),
		worker.Function("fail", func(_ context.Context, text string) (worker.None, error) {
			return worker.None{}, errors.New(text)
		}),
		worker.Function("nap", nap),
		worker.Function("polite", polite),
		worker.Function("stubborn", func(_ context.Context, seconds float64) (string, error) {
			time.Sleep(duration(seconds))
			return "ended", nil
		}),
		worker.Function("leave", func(_ context.Context, code int) (worker.None, error) {
			os.Exit(code)
			return worker.None{}, nil
		}),
		worker.Function("die", func(context.Context, worker.None) (worker.None, error) { return worker.None{}, die() }),
		worker.Function("die_at_first", dieAtFirst, worker.Idempotent(true)),
		worker.Function("attempt", func(ctx context.Context, _ worker.None) (int, error) {
			return worker.From(ctx).Attempt(), nil
		}),
		worker.Function("is_limited", func(ctx context.Context, _ worker.None) (bool, error) {
			_, limited := worker.From(ctx).Remaining()
			return limited, nil
		}),
	)...)
}

func count(_ context.Context, to int, numbers *worker.Stream[int]) error {
	for n := range to {
		if err := numbers.Send(n); err != nil {
			return err
		}
	}
	return nil
}

func nap(ctx context.Context, seconds float64) (string, error) {
	select {
	case <-time.After(duration(seconds)):
		return "napped", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// polite is busy, and looks up now and then.
func polite(ctx context.Context, _ worker.None) (string, error) {
	for ctx.Err() == nil {
		time.Sleep(2 * time.Millisecond)
	}
	return "stopped", nil
}

func dieAtFirst(ctx context.Context, path string) (int, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return worker.From(ctx).Attempt(), nil
	}
	return 0, errors.Join(err, file.Close(), die())
}

func die() error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
