// Package messagepack reads and writes MessagePack as the protocol uses it: string-keyed maps, 64-bit integers,
// timestamps as the only extension, bounded depth, and Go types by reflection with the tags of encoding/json.
package messagepack

import (
	"errors"
	"fmt"
	"strconv"
)

// A Fault says what is wrong with a value and where in it.
type Fault struct {
	path   string
	reason string
}

// Path is where the value does not fit, from the root: $.items[2].amount.
func (f *Fault) Path() string { return "$" + f.path }

// Reason is what does not fit there.
func (f *Fault) Reason() string { return f.reason }

func (f *Fault) Error() string { return f.Path() + ": " + f.reason }

// Faultf makes a fault at the root.
func Faultf(format string, arguments ...any) *Fault {
	return &Fault{reason: fmt.Sprintf(format, arguments...)}
}

// within puts the name of a field before the path of a fault that comes out of it.
func within(name string, err error) error {
	return prepend("."+name, err)
}

// withinItem does the same for an item of a list.
func withinItem(index int, err error) error {
	return prepend("["+strconv.Itoa(index)+"]", err)
}

func prepend(step string, err error) error {
	var fault *Fault
	if errors.As(err, &fault) {
		return &Fault{path: step + fault.path, reason: fault.reason}
	}
	return err
}
