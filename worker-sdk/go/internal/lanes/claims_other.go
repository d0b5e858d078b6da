//go:build !linux

package lanes

import "errors"

// HasClaims tells whether this system has what claims are made of.
const HasClaims = false

// Claims are none here.
type Claims struct{}

// OpenClaims is never called: HELLO says that there are none.
func OpenClaims(uint32) (*Claims, error) { return nil, errors.ErrUnsupported }

// Claim takes a token.
func (*Claims) Claim() bool { return false }
