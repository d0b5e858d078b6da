package worker

import (
	"context"
	"log/slog"
	"math"
	"time"

	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// A Call is what a function may know and say about the call that it runs for. See From.
type Call struct {
	engine *engine
	seq    uint64
	// seqs are those of all calls that its function is given together.
	seqs     []uint64
	function string
	attempt  uint32
	deadline time.Time
	trace    map[string]string
	cancel   context.CancelCauseFunc
	inputs   *inputs
	// credit is closed and replaced when the stream may have room again; the engine's lock guards it.
	credit chan struct{}
}

// A Place is where a worker is.
type Place struct {
	// Pool is the name of its pool.
	Pool string
	// Worker is its index in the pool, Generation how many had this index before.
	Worker, Generation uint32
	// Concurrency is how many calls may run side by side.
	Concurrency uint32
	// Device is the one that it is bound to, or empty.
	Device string
}

// From is the call that a context belongs to. Outside of one it is a call that says nothing to anybody, so that functions
// can be tested as they are; in hooks it is the worker itself.
func From(ctx context.Context) *Call {
	if call, is := ctx.Value(callKey{}).(*Call); is {
		return call
	}
	return &Call{attempt: 1}
}

// Number is the call's number among those of this worker, 0 outside of one.
func (c *Call) Number() uint64 { return c.seq }

// Function is the name that the function was called by.
func (c *Call) Function() string { return c.function }

// Attempt says which try this is, from 1.
func (c *Call) Attempt() int { return int(c.attempt) }

// Remaining is the time that is left of this attempt, if it has a limit.
func (c *Call) Remaining() (left time.Duration, limited bool) {
	if c.deadline.IsZero() {
		return 0, false
	}
	return max(time.Until(c.deadline), 0), true
}

// Trace is the W3C trace context and the app's own strings.
func (c *Call) Trace() map[string]string { return c.trace }

// Place is where this worker is.
func (c *Call) Place() Place {
	if c.engine == nil {
		return Place{}
	}
	return *c.engine.place.Load()
}

// Progress tells the caller how far the call is, in the function's own unit. A total of 0 is not known.
func (c *Call) Progress(done, total float64, note string) {
	if c.engine == nil || c.seq == 0 {
		return
	}
	var known *float64
	if total != 0 {
		known = &total
	}
	c.engine.progress(c.seqs, wire.ProgressBody(done, known, clean(note, maxMessage)))
}

// Log is the log of this call. Its records reach the host's logger.
func (c *Call) Log() *slog.Logger {
	if c.engine == nil {
		return slog.Default()
	}
	return slog.New(&logHandler{call: c, level: slog.LevelDebug})
}

// numbers are those of all calls that its function runs for; 0 is the worker itself.
func (c *Call) numbers() []uint64 {
	if c.seqs == nil {
		return []uint64{0}
	}
	return c.seqs
}

func newCall(e *engine, run *session.Run) *Call {
	call := &Call{
		engine: e, seq: run.Seq, seqs: []uint64{run.Seq}, function: run.Call.Function, attempt: run.Call.Attempt, trace: run.Call.Context,
		inputs: newInputs(), credit: make(chan struct{}),
	}
	if run.Call.TimeoutMS != nil {
		// A limit of centuries is none; it must not wrap round.
		const most = uint64(math.MaxInt64 / time.Millisecond / 2)
		call.deadline = time.Now().Add(time.Duration(min(*run.Call.TimeoutMS, most)) * time.Millisecond)
	}
	return call
}
