package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ganger.dev/worker/internal/arena"
	"ganger.dev/worker/internal/lanes"
	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// current is the engine that runs in this process, for log records that come without a context.
var current atomic.Pointer[engine]

// An engine runs a session: a goroutine for each lane, one for each call or for several that come after another, and one lock
// in the middle.
type engine struct {
	mu      sync.Mutex
	session *session.Session
	calls   map[uint64]*Call
	// next are calls to run, for whoever took the step that they come of.
	next []func()

	readers map[wire.Lane]*wire.Reader
	// arenas are nil unless both sides can share memory; set before the first call.
	arenas  *arena.Arenas
	data    *lanes.Outbox
	control *lanes.Outbox

	bodies    map[string]body
	together  map[string]together
	contracts []wire.Contract
	startup   []Hook
	shutdown  []Hook
	unfit     error
	place     atomic.Pointer[Place]
	patience  time.Duration
}

func newEngine(connected *lanes.Lanes, session *session.Session) *engine {
	return &engine{
		session: session, calls: map[uint64]*Call{}, bodies: map[string]body{}, together: map[string]together{},
		readers: map[wire.Lane]*wire.Reader{
			wire.Data: wire.NewReader(connected.Data), wire.Control: wire.NewReader(connected.Control),
		},
		data: lanes.NewOutbox(connected.Data), control: lanes.NewOutbox(connected.Control),
	}
}

// serve does not return: the process ends when the session wants it to.
func (e *engine) serve() {
	e.step(func(*session.Session) {})
	go e.listen(wire.Control)
	e.listen(wire.Data)
	select {} // whoever exits is on the way
}

func (e *engine) listen(lane wire.Lane) {
	reader := e.readers[lane]
	for {
		frame, err := reader.Next()
		isTooLarge := errors.As(err, new(*wire.TooLarge))
		e.step(func(s *session.Session) {
			switch {
			case err == nil:
				s.Receive(lane, frame)
			case isTooLarge, errors.As(err, new(wire.Violation)):
				s.Refuse(err)
			default:
				s.End()
			}
		})
		for run := e.nextCall(); run != nil; run = e.nextCall() {
			go e.runOn(run)
		}
		if err != nil && !isTooLarge {
			return
		}
	}
}

// runOn runs a call, and those whose turn comes with its end.
func (e *engine) runOn(run func()) {
	defer func() {
		if run != nil { // its function has ended this goroutine
			if next := e.nextCall(); next != nil {
				go e.runOn(next)
			}
		}
	}()
	for run != nil {
		run()
		run = e.nextCall()
	}
}

func (e *engine) nextCall() (run func()) {
	e.mu.Lock()
	if len(e.next) > 0 {
		run, e.next = e.next[0], e.next[1:]
	}
	e.mu.Unlock()
	return run
}

// step is one step of the session and all that follows from it; with an answer the turn of the next call comes (R62).
func (e *engine) step(take func(*session.Session)) {
	for answers := e.stepOnce(take); answers > 0; {
		answers = e.stepOnce(func(s *session.Session) { s.Written(answers) })
	}
}

// stepOnce gives how many answers it has written.
func (e *engine) stepOnce(take func(*session.Session)) (answers int) {
	e.mu.Lock()
	take(e.session)
	// In the order of the session, which only the lock knows.
	e.control.Add(e.session.ControlOut...)
	e.data.Add(e.session.DataOut...)
	effects := e.session.Effects
	e.session.ControlOut, e.session.DataOut, e.session.Effects = nil, nil, nil
	for _, effect := range effects {
		e.perform(effect)
	}
	answers = e.session.NewAnswers()
	e.mu.Unlock()
	write := e.data.Flush
	if answers > 0 {
		write = e.data.Drain // others may be amid a write of what they took
	}
	if e.control.Flush() != nil || write() != nil {
		os.Exit(0) // the host is gone (R1)
	}
	return answers
}

// perform is called under the lock: a cancel must find the call that came before it. What takes time has its goroutine.
func (e *engine) perform(effect session.Effect) {
	switch effect := effect.(type) {
	case session.Load:
		go e.load(&effect.Welcome)
	case session.Run:
		e.begin(&effect)
	case session.RunTogether:
		e.beginTogether(effect.Runs)
	case session.Cancel:
		e.withCall(effect.Seq, func(call *Call) { call.cancel(&Cancelled{effect.Reason}) })
	case session.Input:
		e.withCall(effect.Seq, func(call *Call) { call.inputs.put(effect) })
	case session.InputEnd:
		e.withCall(effect.Seq, func(call *Call) { call.inputs.end() })
	case session.Credit:
		e.withCall(effect.Seq, func(call *Call) {
			close(call.credit)
			call.credit = make(chan struct{})
		})
	case session.Released:
		if e.arenas != nil {
			e.arenas.Release(effect.Offsets...)
		}
	case session.Shutdown:
		go e.shutDown()
	case session.Exit:
		go e.exit(effect)
	case session.Vanish:
		os.Exit(0)
	}
}

func (e *engine) begin(run *session.Run) {
	call := newCall(e, run)
	ctx, release := contextOf(call)
	e.calls[run.Seq] = call
	e.next = append(e.next, func() {
		if e.together[call.function] != nil {
			e.runTogether(ctx, release, call, []session.Run{*run})
		} else {
			e.run(ctx, release, call, run)
		}
	})
}

func (e *engine) beginTogether(runs []session.Run) {
	call := newBatchCall(e, runs)
	ctx, release := contextOf(call)
	for _, seq := range call.seqs {
		e.calls[seq] = call
	}
	e.next = append(e.next, func() { e.runTogether(ctx, release, call, runs) })
}

func (e *engine) withCall(seq uint64, use func(*Call)) {
	if call := e.calls[seq]; call != nil {
		use(call)
	}
}

// run runs a call to its end, whatever its function does.
func (e *engine) run(ctx context.Context, release func(), call *Call, run *session.Run) {
	var end outcome
	returned := false
	defer func() {
		if !returned {
			end = outcome{report: panicReport(recover())}
		}
		release()
		e.finish(call.seq, &end)
	}()
	if misfit := e.bringIn(run.Shared, &run.Payload); misfit != nil {
		end = outcome{report: misfitOf(wire.InvalidInput, misfit)}
	} else {
		end = e.bodies[call.function](ctx, run, call)
	}
	returned = true
}

// bringIn copies a payload out of shared memory, if it lies there.
func (e *engine) bringIn(shared *wire.Reference, payload *[]byte) (err error) {
	if shared != nil {
		*payload, err = e.arenas.Read(shared)
	}
	return err
}

// log sends LOG of the worker itself, or of a call: of a batch, that of the first which still runs.
func (e *engine) log(seqs []uint64, body []byte) {
	e.step(func(s *session.Session) {
		for _, seq := range seqs {
			if s.Say(wire.Log, seq, body) {
				break
			}
		}
	})
}

// progress sends PROGRESS of a call: of a batch, that of all.
func (e *engine) progress(seqs []uint64, body []byte) {
	e.step(func(s *session.Session) {
		for _, seq := range seqs {
			s.Say(wire.Progress, seq, body)
		}
	})
}

func (e *engine) exit(how session.Exit) {
	if how.Code == wire.ViolationExit {
		fmt.Fprintf(os.Stderr, "ganger-worker: protocol violation: %s\n", how.Complaint)
	} else if how.Complaint != "" {
		fmt.Fprintf(os.Stderr, "ganger-worker: %s\n", how.Complaint)
	}
	// Others may be amid a write of what they took (R24). If it fails, nobody reads.
	_, _ = e.control.Drain(), e.data.Drain()
	os.Exit(how.Code)
}
