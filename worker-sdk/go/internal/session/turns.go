package session

import "ganger.dev/worker/internal/wire"

// Claims is where calls that were handed over ahead are claimed.
type Claims interface {
	// Claim takes a token. False: there is none, the host has taken its call back.
	Claim() bool
}

// turns says whose turn it is (R62): calls that were handed over ahead wait in a line, and each is taken up when the
// answer to the one before it is written.
type turns struct {
	// claims are nil if the host hands nothing over ahead: every call begins when it comes.
	claims Claims
	line   []*wire.Frame
	// unwritten are answers that may not be written yet; fresh are those of them that nobody has taken care of.
	unwritten, fresh int
}

// ClaimFrom says that WELCOME named claims, and that they are open.
func (s *Session) ClaimFrom(claims Claims) { s.turns.claims = claims }

// NewAnswers are how many answers there are whose writing must be told to Written.
func (s *Session) NewAnswers() int {
	fresh := s.turns.fresh
	s.turns.fresh = 0
	return fresh
}

// Written says that so many answers are written completely.
func (s *Session) Written(answers int) {
	s.turns.unwritten -= answers
	if err := s.takeTurns(); err != nil {
		s.Refuse(err)
	}
}

// answer sends what ends a call.
func (s *Session) answer(frame wire.Frame) {
	s.send(frame)
	if s.turns.claims != nil {
		s.turns.unwritten++
		s.turns.fresh++
	}
}

// waits tells whether a call is in the line.
func (s *Session) waits(seq uint64) bool {
	for _, call := range s.turns.line {
		if call.Seq == seq {
			return true
		}
	}
	return false
}

// lineUp takes a call that has come. Without AHEAD its turn has come with it: the host has heard the answer to every
// call before it, whether that was noted here or not, or has taken the call back. And what belongs to it may follow at
// once.
func (s *Session) lineUp(call *wire.Frame) error {
	if call.Flags&wire.Ahead != 0 {
		s.turns.line = append(s.turns.line, call)
		return s.takeTurns()
	}
	for _, takenBack := range s.turns.line {
		delete(s.early, takenBack.Seq)
	}
	s.turns.line = nil
	return s.takeUp(call)
}

// takeTurns begins whatever may.
func (s *Session) takeTurns() error {
	for s.turns.unwritten == 0 && len(s.running) == 0 && !s.chunks.HoldCalls() && len(s.turns.line) > 0 {
		call := s.turns.line[0]
		s.turns.line = s.turns.line[1:]
		if !s.turns.claims.Claim() {
			delete(s.early, call.Seq)
		} else if err := s.takeUp(call); err != nil {
			return err
		}
	}
	s.stopIfIdle()
	return nil
}
