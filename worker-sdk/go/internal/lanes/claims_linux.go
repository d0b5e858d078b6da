package lanes

import (
	"fmt"
	"syscall"
)

// HasClaims tells whether this system has what claims are made of.
const HasClaims = true

// Claims is the semaphore from which calls are claimed that were handed over ahead (R60).
type Claims struct{ descriptor int }

// OpenClaims takes over the descriptor that WELCOME names, so that children do not have it.
func OpenClaims(number uint32) (*Claims, error) {
	var status syscall.Stat_t
	if err := syscall.Fstat(int(number), &status); err != nil {
		return nil, fmt.Errorf("descriptor %d has no claims: %w", number, err)
	}
	syscall.CloseOnExec(int(number))
	return &Claims{int(number)}, nil
}

// Claim takes a token, if there is one.
func (c *Claims) Claim() bool {
	var token [8]byte
	length, err := syscall.Read(c.descriptor, token[:])
	return err == nil && length == len(token)
}
