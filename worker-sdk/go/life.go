package worker

import (
	"context"
	"fmt"
	"os"
	"time"

	"ganger.dev/worker/internal/arena"
	"ganger.dev/worker/internal/lanes"
	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// load runs the start-up hooks, then says that the worker is ready.
func (e *engine) load(welcome *wire.WelcomeBody) {
	place := Place{
		Pool: welcome.Pool, Worker: welcome.Worker, Generation: welcome.Generation, Concurrency: welcome.Concurrency,
	}
	if welcome.Device != nil {
		place.Device = *welcome.Device
	}
	e.place.Store(&place)
	e.patience = time.Duration(welcome.StopTimeoutMS) * time.Millisecond
	if err := e.openArenas(welcome); err != nil {
		e.exit(session.Exit{Code: wire.ViolationExit, Complaint: err.Error()})
	}
	if err := e.openClaims(welcome); err != nil {
		e.exit(session.Exit{Code: wire.ViolationExit, Complaint: err.Error()})
	}
	for _, reader := range e.readers {
		reader.Limit(welcome.MaxPayload)
	}
	failed := e.start()
	e.step(func(s *session.Session) {
		if failed != nil {
			s.LoadFailed(*failed)
		} else {
			s.Loaded(e.contracts)
		}
	})
}

func (e *engine) openArenas(welcome *wire.WelcomeBody) error {
	if welcome.SharedMemory == nil {
		return nil
	}
	arenas, err := arena.Open(welcome.SharedMemory, welcome.MaxPayload)
	e.mu.Lock()
	e.arenas = arenas
	e.mu.Unlock()
	return err
}

func (e *engine) openClaims(welcome *wire.WelcomeBody) error {
	if welcome.ClaimsFD == nil {
		return nil
	}
	claims, err := lanes.OpenClaims(*welcome.ClaimsFD)
	if err == nil {
		e.step(func(s *session.Session) { s.ClaimFrom(claims) })
	}
	return err
}

// start says what kept the worker from starting, if something did.
func (e *engine) start() *wire.Report {
	if e.unfit != nil {
		return reportOf(e.unfit)
	}
	for _, hook := range e.startup {
		if report := runHook(e.hookContext(context.Background()), hook); report != nil {
			return report
		}
	}
	return nil
}

// shutDown runs the shutdown hooks. One that fails is heard on stderr; the others still run.
func (e *engine) shutDown() {
	ctx, release := context.WithTimeout(context.Background(), e.patience)
	defer release()
	for _, hook := range e.shutdown {
		if report := runHook(e.hookContext(ctx), hook); report != nil {
			fmt.Fprintf(os.Stderr, "ganger-worker: a shutdown hook failed: %s: %s\n", report.Type, report.Message)
		}
	}
	e.step(func(s *session.Session) { s.HooksDone() })
}

func (e *engine) hookContext(parent context.Context) context.Context {
	return context.WithValue(parent, callKey{}, &Call{engine: e, attempt: 1})
}

// runHook runs a hook on a goroutine of its own: it may end that, and must not end ours.
func runHook(ctx context.Context, hook Hook) *wire.Report {
	done := make(chan *wire.Report)
	go func() {
		var report *wire.Report
		returned := false
		defer func() {
			if !returned {
				report = panicReport(recover())
			}
			done <- report
		}()
		if err := hook(ctx); err != nil {
			report = reportOf(err)
		}
		returned = true
	}()
	return <-done
}
