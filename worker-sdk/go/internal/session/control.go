package session

import (
	"fmt"

	"ganger.dev/worker/internal/wire"
)

func (s *Session) receiveControl(frame *wire.Frame) error {
	switch frame.Kind {
	case wire.Welcome:
		return s.welcome(frame)
	case wire.Cancel:
		return s.cancel(frame)
	default:
		return s.credit(frame)
	}
}

func (s *Session) welcome(frame *wire.Frame) error {
	if s.phase != greeting {
		return fmt.Errorf("a second WELCOME")
	}
	welcome, err := wire.ReadWelcome(frame.Body)
	if err != nil {
		return err
	}
	if welcome.Version != wire.Version {
		return fmt.Errorf("version %d was not offered", welcome.Version)
	}
	s.maxPayload, s.arenas = welcome.MaxPayload, welcome.SharedMemory
	s.phase = loading
	s.want(Load{welcome})
	return nil
}

// cancel asks a call to stop, ends one that is still arriving, or is remembered for one that it overtook (R25, R26).
func (s *Session) cancel(frame *wire.Frame) error {
	reason, err := wire.ReadCancel(frame.Body)
	if err != nil {
		return err
	}
	seq := frame.Seq
	call := s.running[seq]
	switch {
	case call != nil:
		s.chunks.Abandon(seq) // of an input item that the host may not finish any more
		s.cancelRunning(seq, call, reason)
	case s.chunks.Abandon(seq):
		s.answerCancelled(seq)
		s.stopIfIdle()
	case seq > s.highest || s.waits(seq):
		s.early[seq] = reason
	}
	return nil
}
