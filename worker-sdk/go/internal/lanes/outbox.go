package lanes

import (
	"io"
	"net"
	"sync"

	"ganger.dev/worker/internal/wire"
)

const (
	// pieceLength is what of a long payload goes at once, so that other frames go between.
	pieceLength = 256 << 10
	// joinedLength is up to where a payload is copied behind its header: cheaper than a second buffer of a write.
	joinedLength = 16 << 10
)

// An Outbox writes frames to a lane. Whoever adds to an idle one writes until it is empty; others only add, and what
// they add is written in the same order.
type Outbox struct {
	lane    io.Writer
	mu      sync.Mutex
	idle    *sync.Cond
	queue   []wire.Frame
	long    []*longFrame
	writing bool
	failed  error
	joined  []byte
}

// A longFrame goes in pieces. Frames of the same call wait until it has gone (R10).
type longFrame struct {
	frame  wire.Frame
	sent   int
	behind []wire.Frame
}

// NewOutbox writes to a lane.
func NewOutbox(lane io.Writer) *Outbox {
	outbox := &Outbox{lane: lane}
	outbox.idle = sync.NewCond(&outbox.mu)
	return outbox
}

// Add queues frames; Flush must follow.
func (o *Outbox) Add(frames ...wire.Frame) {
	o.mu.Lock()
	o.queue = append(o.queue, frames...)
	o.mu.Unlock()
}

// Flush writes what is queued, unless somebody else does already. An error means that the host is gone.
func (o *Outbox) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing {
		return nil
	}
	for o.failed == nil && (len(o.queue) > 0 || len(o.long) > 0) {
		buffers := o.nextBuffers()
		o.writing = true
		o.mu.Unlock()
		_, err := buffers.WriteTo(o.lane)
		o.mu.Lock()
		o.writing, o.failed = false, err
	}
	o.idle.Broadcast()
	return o.failed
}

// Drain waits until all that is queued has been written, by whomever.
func (o *Outbox) Drain() error {
	if err := o.Flush(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.failed == nil && (o.writing || len(o.queue) > 0 || len(o.long) > 0) {
		o.idle.Wait()
	}
	return o.failed
}

// nextBuffers takes all short frames of the queue, then one piece of each long one.
func (o *Outbox) nextBuffers() net.Buffers {
	batch := batch{joined: o.joined[:0]}
	queue := o.queue
	o.queue = nil
	for index := range queue {
		o.put(&batch, &queue[index])
	}
	var left []*longFrame
	for _, long := range o.long {
		length := min(pieceLength, len(long.frame.Payload)-long.sent)
		batch.joined = long.frame.AppendPiece(batch.joined, long.sent, length)
		batch.add(long.frame.Payload[long.sent : long.sent+length])
		if long.sent += length; long.sent < len(long.frame.Payload) {
			left = append(left, long)
		} else {
			o.queue = append(o.queue, long.behind...)
		}
	}
	o.long = left
	o.joined = batch.joined
	return batch.buffers()
}

func (o *Outbox) put(batch *batch, frame *wire.Frame) {
	if frame.Seq != 0 {
		for _, long := range o.long {
			if long.frame.Seq == frame.Seq {
				long.behind = append(long.behind, *frame)
				return
			}
		}
	}
	if len(frame.Payload) > pieceLength {
		o.long = append(o.long, &longFrame{frame: *frame})
		return
	}
	batch.joined = frame.AppendHead(batch.joined)
	batch.add(frame.Payload)
}

// A batch is what goes in one write: short bytes joined in one buffer, long ones from where they lie.
type batch struct {
	joined []byte
	// cuts are where long bytes go between.
	cuts []cut
}

type cut struct {
	at   int
	long []byte
}

func (b *batch) add(payload []byte) {
	if len(payload) <= joinedLength {
		b.joined = append(b.joined, payload...)
	} else {
		b.cuts = append(b.cuts, cut{len(b.joined), payload})
	}
}

func (b *batch) buffers() net.Buffers {
	buffers := make(net.Buffers, 0, 2*len(b.cuts)+1)
	from := 0
	for _, cut := range b.cuts {
		buffers = append(buffers, b.joined[from:cut.at], cut.long)
		from = cut.at
	}
	if from < len(b.joined) {
		buffers = append(buffers, b.joined[from:])
	}
	return buffers
}
