package worker

import (
	"context"
	"io"
	"sync"

	"ganger.dev/worker/internal/session"
)

// inputs are items of an input stream that have come and were not taken yet. Credit bounds how many.
type inputs struct {
	mu    sync.Mutex
	items []session.Input
	ended bool
	// news is closed and replaced whenever there is something.
	news chan struct{}
}

func newInputs() *inputs { return &inputs{news: make(chan struct{})} }

func (i *inputs) put(item session.Input) {
	i.mu.Lock()
	i.items = append(i.items, item)
	i.ring()
}

func (i *inputs) end() {
	i.mu.Lock()
	i.ended = true
	i.ring()
}

// ring wakes all that wait, and unlocks.
func (i *inputs) ring() {
	close(i.news)
	i.news = make(chan struct{})
	i.mu.Unlock()
}

func (i *inputs) next(ctx context.Context) (item session.Input, err error) {
	for {
		i.mu.Lock()
		news := i.news
		if len(i.items) > 0 {
			item, i.items = i.items[0], i.items[1:]
			i.mu.Unlock()
			return item, nil
		}
		ended := i.ended
		i.mu.Unlock()
		if ended {
			return item, io.EOF
		}
		select {
		case <-news:
		case <-ctx.Done():
			return item, context.Cause(ctx)
		}
	}
}
