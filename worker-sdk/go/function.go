package worker

import (
	"context"
	"fmt"
	"reflect"

	"ganger.dev/worker/internal/schema"
	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// None is the input of a function that takes none, and the result of one that gives none.
type None = struct{}

// An offer is a function of a worker and what it promises.
type offer struct {
	contract wire.Contract
	body     body
	// together is its body instead, if it takes batches.
	together together
	// unfit is what is wrong with how it was made.
	unfit error
}

// A body reads the input of a call, runs the function and writes what comes of it.
type body func(ctx context.Context, run *session.Run, call *Call) outcome

// Function offers a function that takes one value and gives one. An In of any takes all that the protocol has: nil,
// bool, int64, uint64 beyond it, float64, string, []byte, []any, map[string]any and time.Time. A []byte crosses as it is: the
// function may do with its input what it likes, and leaves a result alone once it has returned it.
func Function[In, Out any](name string, run func(context.Context, In) (Out, error), options ...Option) Part {
	return newOffer[In, Out](name, options, func(ctx context.Context, in *session.Run, _ *Call) outcome {
		input, misfit := decodeInput[In](in)
		if misfit != nil {
			return outcome{report: misfit}
		}
		result, err := run(ctx, input)
		if err != nil {
			return failed(err)
		}
		return encodeOutput(result)
	})
}

// StreamFunction offers a function that gives many values, one after the other.
func StreamFunction[In, T any](
	name string, run func(context.Context, In, *Stream[T]) error, options ...Option,
) Part {
	made := newOffer[In, T](name, options, func(ctx context.Context, in *session.Run, call *Call) outcome {
		input, misfit := decodeInput[In](in)
		if misfit != nil {
			return outcome{report: misfit}
		}
		return ended(run(ctx, input, &Stream[T]{ctx, call}))
	})
	made.contract.Kind = "stream"
	return made
}

// InputFunction offers a function that takes a stream of items beside its input, and gives one value.
func InputFunction[In, Item, Out any](
	name string, run func(context.Context, In, *Inputs[Item]) (Out, error), options ...Option,
) Part {
	made := newOffer[In, Out](name, options, func(ctx context.Context, in *session.Run, call *Call) outcome {
		input, misfit := decodeInput[In](in)
		if misfit != nil {
			return outcome{report: misfit}
		}
		result, err := run(ctx, input, &Inputs[Item]{ctx, call})
		if err != nil {
			return failed(err)
		}
		return encodeOutput(result)
	})
	made.describeInputs(reflect.TypeFor[Item]())
	return made
}

// DuplexFunction offers a function that takes a stream of items and gives another.
func DuplexFunction[In, Item, T any](
	name string, run func(context.Context, In, *Inputs[Item], *Stream[T]) error, options ...Option,
) Part {
	made := newOffer[In, T](name, options, func(ctx context.Context, in *session.Run, call *Call) outcome {
		input, misfit := decodeInput[In](in)
		if misfit != nil {
			return outcome{report: misfit}
		}
		return ended(run(ctx, input, &Inputs[Item]{ctx, call}, &Stream[T]{ctx, call}))
	})
	made.contract.Kind = "stream"
	made.describeInputs(reflect.TypeFor[Item]())
	return made
}

func (o *offer) join(e *engine) error {
	name := o.contract.Name
	switch {
	case o.unfit != nil:
		return fmt.Errorf("the function %q: %w", name, o.unfit)
	case name == "":
		return fmt.Errorf("a function has no name")
	case e.bodies[name] != nil || e.together[name] != nil:
		return fmt.Errorf("two functions named %q", name)
	}
	if o.together != nil {
		e.together[name] = o.together
	} else {
		e.bodies[name] = o.body
	}
	e.contracts = append(e.contracts, o.contract)
	return nil
}

func newOffer[In, Out any](name string, options []Option, body body) *offer {
	made := &offer{body: body, contract: wire.Contract{
		Name: name, Kind: "value", Slots: 1, Weight: 1, Coefficient: 1,
	}}
	made.readTags(reflect.TypeFor[In]())
	for _, option := range options {
		option(made)
	}
	made.contract.Input = made.describe(reflect.TypeFor[In]())
	made.contract.Output = made.describe(reflect.TypeFor[Out]())
	return made
}

func (o *offer) describe(kind reflect.Type) map[string]any {
	described, err := schema.Of(kind)
	o.refuse(err)
	return described
}

func (o *offer) describeInputs(item reflect.Type) {
	described := o.describe(item)
	if described == nil {
		described = map[string]any{}
	}
	o.contract.Inputs = &described
}

func (o *offer) refuse(err error) {
	if o.unfit == nil {
		o.unfit = err
	}
}

func ended(err error) outcome {
	if err != nil {
		return failed(err)
	}
	return encodeOutput(None{})
}
