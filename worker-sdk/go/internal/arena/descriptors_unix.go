//go:build unix

package arena

import (
	"fmt"
	"os"
	"syscall"
)

// IsOffered tells whether this system hands descriptors down.
const IsOffered = true

func inherited(number uint32, name string) (*os.File, error) {
	syscall.CloseOnExec(int(number))
	file := os.NewFile(uintptr(number), name)
	if _, err := file.Stat(); err != nil {
		return nil, fmt.Errorf("descriptor %d is no arena: %w", number, err)
	}
	return file, nil
}
