package worker

import (
	"fmt"
	"time"
)

// An Option says something about a function that its type does not.
type Option func(*offer)

// Summary is a line for people.
func Summary(text string) Option {
	return func(o *offer) { o.contract.Summary = &text }
}

// Idempotent says whether a call may be tried again after its worker died: without a promise it never is.
func Idempotent(promised bool) Option {
	return func(o *offer) { o.contract.Idempotent = promised }
}

// Slots is how many slots of the worker's concurrency a call takes.
func Slots(count uint32) Option {
	return func(o *offer) {
		if count == 0 {
			o.refuse(fmt.Errorf("a call takes one slot at least"))
		}
		o.contract.Slots = count
	}
}

// Weight is what a call costs a node, from 1 to 100.
func Weight(weight uint8) Option {
	return func(o *offer) {
		if weight < 1 || weight > 100 {
			o.refuse(fmt.Errorf("a weight is between 1 and 100, not %d", weight))
		}
		o.contract.Weight = weight
	}
}

// Coefficient is how much more than its weight a call costs where it runs.
func Coefficient(factor float64) Option {
	return func(o *offer) { o.contract.Coefficient = factor }
}

// Exclusive is what a call wants to itself: "worker" or "node".
func Exclusive(place string) Option {
	return func(o *offer) {
		if place != "worker" && place != "node" {
			o.refuse(fmt.Errorf("a call is exclusive on its worker or its node, not %q", place))
		}
		o.contract.Exclusive = &place
	}
}

// Timeout is how long an attempt may run unless the call says otherwise.
func Timeout(limit time.Duration) Option {
	return func(o *offer) {
		if limit < time.Millisecond {
			o.refuse(fmt.Errorf("a timeout of %s", limit))
		}
		milliseconds := uint64(limit.Milliseconds())
		o.contract.TimeoutMS = &milliseconds
	}
}
