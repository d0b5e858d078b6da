package wire

import "encoding/binary"

// Chunks joins the payloads that come in pieces on one lane in one direction (2.2).
type Chunks struct {
	open    map[uint64]*assembly
	highest uint64
}

type assembly struct {
	first Frame
	total uint64
}

// UnderWay tells whether a payload of this seq has begun and not ended.
func (c *Chunks) UnderWay(seq uint64) bool { return c.open[seq] != nil }

// HoldCalls tells whether some call has begun to arrive.
func (c *Chunks) HoldCalls() bool {
	for _, assembly := range c.open {
		if assembly.first.Kind == Call {
			return true
		}
	}
	return false
}

// Abandon drops what has come for a seq; pieces on their way are ignored. It tells whether there was something.
func (c *Chunks) Abandon(seq uint64) bool {
	under := c.UnderWay(seq)
	delete(c.open, seq)
	return under
}

// Ignore notes a payload that began and will not be joined.
func (c *Chunks) Ignore(seq uint64) { c.highest = max(c.highest, seq) }

// Take gives a frame back if it is whole, or has become so; else it keeps it until its last piece has come.
func (c *Chunks) Take(frame Frame, maxPayload uint64) (whole *Frame, err error) {
	switch {
	case frame.Kind == Chunk:
		return c.add(frame)
	case frame.Flags&More != 0:
		return nil, c.begin(frame, maxPayload)
	default:
		return &frame, nil
	}
}

func (c *Chunks) begin(first Frame, maxPayload uint64) error {
	if c.UnderWay(first.Seq) {
		return violationf("a second chunked payload for seq %d", first.Seq)
	}
	if len(first.Payload) < totalLength {
		return violationf("the chunked payload of seq %d begins without its total", first.Seq)
	}
	c.Ignore(first.Seq)
	total := binary.LittleEndian.Uint64(first.Payload)
	if total > maxPayload {
		return &TooLarge{Kind: first.Kind, Seq: first.Seq, Length: total, Limit: maxPayload}
	}
	first.Payload = first.Payload[totalLength:]
	opened := &assembly{first: first, total: total}
	if c.open == nil {
		c.open = map[uint64]*assembly{}
	}
	c.open[first.Seq] = opened
	return opened.checkSum()
}

func (c *Chunks) add(chunk Frame) (*Frame, error) {
	opened := c.open[chunk.Seq]
	if opened == nil {
		if chunk.Seq > c.highest {
			return nil, violationf("a chunk for seq %d, which never began", chunk.Seq)
		}
		return nil, nil // it was abandoned, and this was on its way by then
	}
	opened.grow(len(chunk.Payload))
	opened.first.Payload = append(opened.first.Payload, chunk.Payload...)
	if err := opened.checkSum(); err != nil || chunk.Flags&More != 0 {
		return nil, err
	}
	if uint64(len(opened.first.Payload)) != opened.total {
		return nil, violationf("the chunks of seq %d add up to %d, not %d",
			chunk.Seq, len(opened.first.Payload), opened.total)
	}
	delete(c.open, chunk.Seq)
	opened.first.Flags &^= More
	return &opened.first, nil
}

// grow makes room: twice as much as has come, but never more than the total, which is not believed before it comes.
func (a *assembly) grow(more int) {
	have := len(a.first.Payload)
	if have+more <= cap(a.first.Payload) {
		return
	}
	room := make([]byte, have, max(uint64(have+more), min(a.total, uint64(2*(have+more)))))
	copy(room, a.first.Payload)
	a.first.Payload = room
}

func (a *assembly) checkSum() error {
	if uint64(len(a.first.Payload)) > a.total {
		return violationf("the chunks of seq %d add up to more than %d", a.first.Seq, a.total)
	}
	return nil
}
