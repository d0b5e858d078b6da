// Package arena is shared memory as a worker sees it (SPEC 2.3): inputs are read where they lie, results are left for the
// host.
//
// Through the descriptors: one copy, and no memory that the host could change while a function looks at it.
package arena

import (
	"fmt"
	"os"
	"sync"

	"ganger.dev/worker/internal/wire"
)

// Arenas are both arenas of a worker.
type Arenas struct {
	inputs, results *os.File
	threshold       uint64
	maxPayload      uint64
	mu              sync.Mutex
	free            *blocks
}

// Open takes over the descriptors that WELCOME names, so that children do not have them.
func Open(offered *wire.SharedMemory, maxPayload uint64) (*Arenas, error) {
	inputs, err := inherited(offered.InputFD, "inputs")
	if err != nil {
		return nil, err
	}
	results, err := inherited(offered.ResultFD, "results")
	if err != nil {
		return nil, err
	}
	return &Arenas{
		inputs: inputs, results: results, threshold: offered.Threshold, maxPayload: maxPayload,
		free: newBlocks(offered.ResultSize),
	}, nil
}

// Read copies an input out.
func (a *Arenas) Read(reference *wire.Reference) ([]byte, error) {
	bytes := make([]byte, reference.Length)
	if _, err := a.inputs.ReadAt(bytes, int64(reference.Offset)); err != nil {
		return nil, fmt.Errorf("the input cannot be read from shared memory: %w", err)
	}
	return bytes, nil
}

// Write leaves a result for the host. It is nil for one that is short or too long, or when there is no room or no memory.
func (a *Arenas) Write(payload []byte) *wire.Reference {
	length := uint64(len(payload))
	if length < a.threshold || length > a.maxPayload {
		return nil
	}
	a.mu.Lock()
	offset, found := a.free.take(length)
	a.mu.Unlock()
	if !found {
		return nil
	}
	// Writing through the descriptor reserves the memory, or fails: through a mapping it would kill.
	if _, err := a.results.WriteAt(payload, int64(offset)); err != nil {
		a.Release(offset)
		return nil
	}
	return &wire.Reference{Arena: wire.ResultArena, Offset: offset, Length: length}
}

// Release takes blocks back that the host has done with.
func (a *Arenas) Release(offsets ...uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, offset := range offsets {
		a.free.give(offset)
	}
}
