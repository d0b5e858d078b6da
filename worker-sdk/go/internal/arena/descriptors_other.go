//go:build !unix

package arena

import (
	"errors"
	"os"
)

// IsOffered tells whether this system hands descriptors down.
const IsOffered = false

func inherited(uint32, string) (*os.File, error) { return nil, errors.ErrUnsupported }
