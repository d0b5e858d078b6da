package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"ganger.dev/worker"
)

// The tests start their own program as a worker: with this variable it is one.
const asWorker = "GANGER_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(asWorker) {
	case "":
		os.Exit(m.Run())
	case "functions":
		worker.Run(append(append(functions(), batches()...), hooks()...)...)
	case "failing start":
		worker.Run(worker.Startup(func(context.Context) error {
			return &quota{Limit: 3, cause: fs.ErrNotExist}
		}))
	case "panicking start":
		worker.Run(worker.Startup(func(context.Context) error { panic("no model") }))
	case "slow start":
		worker.Run(worker.Startup(func(context.Context) error { time.Sleep(time.Hour); return nil }))
	case "unfit batch":
		worker.Run(worker.BatchFunction("a", 0, 0, func(context.Context, []int) ([]int, error) { return nil, nil }))
	case "two of a name":
		worker.Run(worker.Function("a", none), worker.Function("a", none))
	case "unfit type":
		worker.Run(worker.Function("a", func(context.Context, chan int) (int, error) { return 0, nil }))
	case "unfit tag":
		worker.Run(worker.Function("a", func(context.Context, struct {
			_ worker.Contract `weight:"101"`
		}) (int, error) {
			return 0, nil
		}))
	}
}

// quota is an error with properties, one of them not to be written, and a cause.
type quota struct {
	Limit  int       `json:"limit"`
	Socket chan int  `json:"socket"`
	When   time.Time `json:"when"`
	cause  error
}

func (q *quota) Error() string { return "over quota" }

func (q *quota) Unwrap() error { return q.cause }

// rude is an error that panics when it is looked at.
type rude struct{}

func (rude) Error() string { panic("do not look") }

type convert struct {
	_        worker.Contract `summary:"Converts a price" idempotent:"true" timeout:"5s" slots:"2" weight:"10" exclusive:"worker"`
	Amount   float64         `json:"amount" ganger:"min=0" doc:"In euros"`
	Currency string          `json:"currency" ganger:"enum=EUR|USD,default=EUR"`
}

func none(context.Context, worker.None) (worker.None, error) { return worker.None{}, nil }

func hooks() []worker.Part {
	say := func(text string) worker.Hook {
		return func(ctx context.Context) error {
			slog.SetDefault(slog.New(worker.LogHandler(nil)))
			worker.From(ctx).Log().Info(text, "pool", worker.From(ctx).Place().Pool)
			return nil
		}
	}
	return []worker.Part{
		worker.Startup(say("first")), worker.Startup(say("second")), worker.Shutdown(say("bye")),
		worker.Shutdown(func(context.Context) error { return errors.New("no way out") }),
		worker.Shutdown(say("gone")),
	}
}

func functions() []worker.Part {
	return []worker.Part{
		worker.Function("echo", func(_ context.Context, value any) (any, error) { return value, nil }),
		worker.Function("none", none),
		worker.Function("convert", func(_ context.Context, in convert) (float64, error) {
			return in.Amount * 2, nil
		}, worker.Weight(20)),
		worker.Function("reverse", func(_ context.Context, data []byte) ([]byte, error) {
			for left, right := 0, len(data)-1; left < right; left, right = left+1, right-1 {
				data[left], data[right] = data[right], data[left]
			}
			return data, nil
		}),
		worker.Function("fail", fail),
		worker.Function("exit", func(_ context.Context, code int) (worker.None, error) {
			os.Exit(code)
			return worker.None{}, nil
		}),
		worker.Function("unwritable", func(context.Context, worker.None) (any, error) {
			return map[string]any{"socket": make(chan int)}, nil
		}),
		worker.Function("repeat", func(_ context.Context, count int) (string, error) {
			return strings.Repeat("x", count), nil
		}),
		worker.Function("seen", seen),
		worker.Function("wait", wait),
		worker.Function("busy", busy),
		worker.Function("log", log),
		worker.Function("environment", environment),
		worker.StreamFunction("count", count),
		worker.StreamFunction("blocks", func(_ context.Context, blocks int, out *worker.Stream[[]byte]) error {
			for range blocks {
				if err := out.Send(make([]byte, 1<<20)); err != nil {
					return err
				}
			}
			return nil
		}),
		worker.StreamFunction("refills", func(_ context.Context, mark int, out *worker.Stream[[]byte]) error {
			buffer := make([]byte, 40<<10)
			for number := range 60 {
				for index := range buffer {
					buffer[index] = byte(mark + number)
				}
				if err := out.Send(buffer); err != nil {
					return err
				}
			}
			return nil
		}),
		worker.InputFunction("sum", sum),
		worker.DuplexFunction("double", double),
	}
}

func fail(_ context.Context, how string) (worker.None, error) {
	switch how {
	case "quota":
		return worker.None{}, fmt.Errorf("cannot load: %w", &quota{Limit: 3, When: time.Unix(1, 0), cause: fs.ErrNotExist})
	case "rude":
		return worker.None{}, rude{}
	case "panic":
		panic("out of luck")
	case "index":
		var empty []int
		_ = empty[len(how)]
	case "nil":
		var missing *quota
		missing.Limit++
	case "goexit":
		runtime.Goexit()
	}
	return worker.None{}, errors.New(how)
}

func seen(ctx context.Context, _ worker.None) (map[string]any, error) {
	call := worker.From(ctx)
	left, limited := call.Remaining()
	deadline, has := ctx.Deadline()
	return map[string]any{
		"function": call.Function(), "attempt": call.Attempt(), "number": call.Number(), "trace": call.Trace(),
		"pool": call.Place().Pool, "worker": call.Place().Worker, "device": call.Place().Device,
		"limited": limited && left > 0, "deadline": has && time.Until(deadline) > 0,
	}, nil
}

// wait lasts until it is given up.
func wait(ctx context.Context, started string) (string, error) {
	if err := os.WriteFile(started, nil, 0o600); err != nil {
		return "", err
	}
	<-ctx.Done()
	if strings.HasSuffix(started, "finishes") {
		return context.Cause(ctx).Error(), nil
	}
	return "", fmt.Errorf("given up: %w", context.Cause(ctx))
}

// busy never looks up.
func busy(_ context.Context, started string) (worker.None, error) {
	if err := os.WriteFile(started, nil, 0o600); err != nil {
		return worker.None{}, err
	}
	for {
		time.Now()
	}
}

func log(ctx context.Context, _ worker.None) (worker.None, error) {
	call := worker.From(ctx)
	call.Log().Warn("slow", "seconds", 1.5, slog.Group("where", "line", 3))
	slog.With("of", "the app").WithGroup("deep").InfoContext(ctx, "hello", "error", errors.New("broken"), "bad", make(chan int))
	slog.DebugContext(ctx, "too low")
	slog.Log(ctx, slog.LevelError+4, "the end is nigh\xff")
	call.Progress(1, 4, "a quarter")
	call.Progress(2, 0, "")
	return worker.None{}, nil
}

// environment lists the lanes' variables and descriptors that a child of the worker has.
func environment(context.Context, worker.None) (string, error) {
	listed, err := exec.Command("sh", "-c", "env | grep ^GANGER_.*_FD; ls /proc/self/fd").Output()
	return string(listed), err
}

func count(_ context.Context, to int, out *worker.Stream[int]) error {
	for number := range to {
		if err := out.Send(number); err != nil {
			return err
		}
	}
	return nil
}

func sum(_ context.Context, start int, items *worker.Inputs[int]) (int, error) {
	for item, err := range items.All() {
		if err != nil {
			return 0, err
		}
		start += item
	}
	return start, nil
}

func double(_ context.Context, _ worker.None, items *worker.Inputs[int], out *worker.Stream[int]) error {
	for item, err := range items.All() {
		if err != nil {
			return err
		}
		if err := out.Send(2 * item); err != nil {
			return err
		}
	}
	return nil
}
