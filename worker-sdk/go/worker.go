package worker

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"ganger.dev/worker/internal/arena"
	"ganger.dev/worker/internal/lanes"
	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// usageExit is the exit code of a worker that nobody started as one.
const usageExit = 64

// A Part is what a worker is made of: a function or a hook.
type Part interface{ join(*engine) error }

// A Hook runs before the first call or after the last one.
type Hook func(ctx context.Context) error

type startup Hook

type shutdown Hook

// Startup runs something before the first call, in the order given. If it fails, the worker does not start, and callers
// see its error. What takes long to load belongs here: until main comes to Run, the pool knows nothing of the worker.
func Startup(hook Hook) Part { return startup(hook) }

// Shutdown runs something after the last call, in the order given. There is no promise that it runs: a worker may be
// killed. The context ends when the pool will wait no longer.
func Shutdown(hook Hook) Part { return shutdown(hook) }

// Run joins the pool that started this program, or the one that GANGER_ENDPOINT names, and serves it until the process
// ends. It does not return.
func Run(parts ...Part) {
	connected, err := lanes.Connect()
	if err != nil {
		fmt.Fprintf(os.Stderr, "ganger-worker: %v\n", err)
		os.Exit(usageExit)
	}
	engine := newEngine(connected, session.New(hello(connected.Attach == nil), connected.Attach))
	for _, part := range parts {
		if err := part.join(engine); err != nil && engine.unfit == nil {
			engine.unfit = err
		}
	}
	current.Store(engine)
	engine.serve()
}

func (s startup) join(e *engine) error {
	e.startup = append(e.startup, Hook(s))
	return nil
}

func (s shutdown) join(e *engine) error {
	e.shutdown = append(e.shutdown, Hook(s))
	return nil
}

// hello says that this worker can share memory, and claim calls, if it inherits anything at all.
func hello(inherits bool) wire.HelloBody {
	return wire.HelloBody{
		MinVersion: wire.Version, MaxVersion: wire.Version, SDK: "ganger-worker-go", SDKVersion: version(),
		Language: wire.Language, PID: uint64(os.Getpid()), SharedMemory: inherits && arena.IsOffered,
		Ahead: inherits && lanes.HasClaims,
	}
}

// version is that of this module in the program that it was built into.
func version() string {
	const module = "ganger.dev/worker"
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dependency := range build.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return build.Main.Version
}
