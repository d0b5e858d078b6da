package session

import (
	"fmt"

	"ganger.dev/worker/internal/wire"
)

// An Effect is what a session wants of its worker beside frames to write.
type Effect interface{ isEffect() }

// Load asks for the start-up hooks.
type Load struct{ Welcome wire.WelcomeBody }

// Run asks for a function.
type Run struct {
	Seq      uint64
	Call     wire.CallBody
	Encoding wire.Encoding
	Payload  []byte
	// Shared is where the payload lies instead, if it does.
	Shared *wire.Reference
}

// RunTogether asks for a function, with the inputs of several calls.
type RunTogether struct{ Runs []Run }

// Cancel asks a running call to stop.
type Cancel struct {
	Seq    uint64
	Reason string
}

// Input gives a running call an item of its input stream.
type Input struct {
	Seq      uint64
	Encoding wire.Encoding
	Payload  []byte
	Shared   *wire.Reference
}

// InputEnd ends the input stream of a running call.
type InputEnd struct{ Seq uint64 }

// Credit says that the stream of a running call may have room again.
type Credit struct{ Seq uint64 }

// Released says that the host has done with blocks of the result arena.
type Released struct{ Offsets []uint64 }

// Shutdown asks for the shutdown hooks.
type Shutdown struct{}

// Exit asks to write what is still to be written, then to exit. A violation has a line for stderr.
type Exit struct {
	Code      int
	Complaint string
}

// Vanish asks to exit at once: nobody reads any more (R1).
type Vanish struct{}

func (Load) isEffect()        {}
func (Run) isEffect()         {}
func (RunTogether) isEffect() {}
func (Cancel) isEffect()      {}
func (Input) isEffect()       {}
func (InputEnd) isEffect()    {}
func (Credit) isEffect()      {}
func (Released) isEffect()    {}
func (Shutdown) isEffect()    {}
func (Exit) isEffect()        {}
func (Vanish) isEffect()      {}

// sent is a payload that the worker would send.
type sent struct {
	length int
	limit  uint64
}

func (s *sent) String() string {
	return fmt.Sprintf("the result has %d bytes, the limit is %d", s.length, s.limit)
}
