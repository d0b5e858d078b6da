package worker

import (
	"context"
	"errors"
	"time"
)

// Cancelled is the cause of a call's context when its caller gave it up: errors.Is knows it as context.Canceled, and
// context.Cause gives it with its reason.
type Cancelled struct {
	// Reason is cancel, timeout, deadline or stop.
	Reason string
}

func (c *Cancelled) Error() string { return "the call was cancelled (" + c.Reason + ")" }

// Is makes it one with what contexts say.
func (c *Cancelled) Is(target error) bool { return target == context.Canceled }

// hostsTurn is how long the host has to cancel a call whose time is up, before the worker does so itself. The host settles
// the call as timed out; were it stopped here first, it would have failed by itself.
const hostsTurn = 250 * time.Millisecond

type callKey struct{}

// A callContext knows its call, and tells the deadline as it is: only Done may come a little later.
type callContext struct {
	context.Context
	call *Call
}

func (c *callContext) Deadline() (time.Time, bool) { return c.call.deadline, !c.call.deadline.IsZero() }

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// contextOf makes the context of a call; release must be called at its end.
func contextOf(call *Call) (ctx context.Context, release func()) {
	inside, cancel := context.WithCancelCause(context.Background())
	call.cancel = cancel
	release = func() { cancel(nil) }
	if !call.deadline.IsZero() {
		late := call.deadline.Add(hostsTurn)
		limited, stop := context.WithDeadlineCause(inside, late, &Cancelled{"timeout"})
		inside, release = limited, func() { stop(); cancel(nil) }
	}
	return &callContext{inside, call}, release
}

// isStop tells whether an error says that a context has ended.
func isStop(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
