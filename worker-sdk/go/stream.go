package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// A Stream sends the values that a function gives one after the other.
type Stream[T any] struct {
	ctx  context.Context
	call *Call
}

// Send sends an item, in the order of the calls of Send. It waits while the caller has no room for one, and fails when
// the call was given up, or when the item cannot be sent; a function then returns that error.
func (s *Stream[T]) Send(item T) error {
	encoding, payload, err := encode(item)
	if err != nil {
		return &unencodable{err}
	}
	if encoding == wire.Raw {
		payload = bytes.Clone(payload) // it may be written later, when the function has filled its buffer again
	}
	return s.call.engine.sendItem(s.ctx, s.call.seq, encoding, payload)
}

// Inputs are the items of a call's input stream.
type Inputs[T any] struct {
	ctx  context.Context
	call *Call
}

// Next waits for the next item. After the last one it gives io.EOF.
func (i *Inputs[T]) Next() (item T, err error) {
	input, err := i.call.inputs.next(i.ctx)
	if err != nil {
		return item, err
	}
	if err := i.call.engine.bringIn(input.Shared, &input.Payload); err != nil {
		return item, err
	}
	i.call.engine.read(i.call.seq, &input)
	if item, err = decodeItem[T](input.Encoding, input.Payload); err != nil {
		err = &unfitItem{err}
	}
	return item, err
}

// All goes through the items up to the last one. An error ends it.
func (i *Inputs[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			item, err := i.Next()
			if errors.Is(err, io.EOF) || !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// sendItem waits for credit (R30). Whoever waits holds nothing that others need.
func (e *engine) sendItem(ctx context.Context, seq uint64, encoding wire.Encoding, payload []byte) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var became session.Outcome
		var credit <-chan struct{}
		e.step(func(s *session.Session) {
			became = s.Item(seq, encoding, payload)
			if call := e.calls[seq]; call != nil {
				credit = call.credit
			}
		})
		switch became {
		case session.Queued:
			return nil
		case session.TooLarge:
			return errors.New("the item has more bytes than the pool allows")
		case session.Over:
			return errors.New("the call has ended")
		}
		select {
		case <-credit:
		case <-ctx.Done():
		}
	}
}

func (e *engine) read(seq uint64, input *session.Input) {
	e.step(func(s *session.Session) {
		s.Read(seq, len(input.Payload))
		if input.Shared != nil {
			s.GiveBack(seq, input.Shared)
		}
	})
}

// unencodable is an item that cannot be written.
type unencodable struct{ cause error }

func (u *unencodable) Error() string { return "an item cannot be sent: " + u.cause.Error() }

func (u *unencodable) Unwrap() error { return u.cause }

// unfitItem is an item of an input stream that does not fit its type.
type unfitItem struct{ cause error }

func (u *unfitItem) Error() string { return "an item does not fit: " + u.cause.Error() }

func (u *unfitItem) Unwrap() error { return u.cause }
