// Package lanes has the two connections of a worker to its host: where they come from, and how frames are written.
package lanes

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"ganger.dev/worker/internal/wire"
)

// Lanes are both connections. Attach is what is said first on a named endpoint, nil on inherited lanes.
type Lanes struct {
	Data, Control net.Conn
	Attach        *wire.AttachBody
}

// Connect takes the lanes that the environment names, and the names out of it, so that children have neither.
func Connect() (*Lanes, error) {
	data, control := take("GANGER_DATA_FD"), take("GANGER_CONTROL_FD")
	address, token := take("GANGER_ENDPOINT"), take("GANGER_TOKEN")
	switch {
	case data != "" && control != "":
		return both(func(lane wire.Lane) (net.Conn, error) {
			if lane == wire.Data {
				return inherited(data)
			}
			return inherited(control)
		})
	case address != "":
		lanes, err := both(func(wire.Lane) (net.Conn, error) { return net.Dial("unix", address) })
		if err != nil {
			return nil, fmt.Errorf("cannot attach: %w", err)
		}
		lanes.Attach = &wire.AttachBody{Token: token, Session: rand.Text()}
		return lanes, nil
	default:
		return nil, errors.New("a worker is started by a pool, or attaches to one named by GANGER_ENDPOINT")
	}
}

func take(name string) string {
	value := os.Getenv(name)
	_ = os.Unsetenv(name)
	return value
}

func both(open func(wire.Lane) (net.Conn, error)) (*Lanes, error) {
	data, err := open(wire.Data)
	if err != nil {
		return nil, err
	}
	control, err := open(wire.Control)
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return &Lanes{Data: data, Control: control}, nil
}

// inherited makes a connection of a descriptor: a copy that is closed on exec, in place of the one that is not.
func inherited(descriptor string) (net.Conn, error) {
	number, err := strconv.ParseUint(descriptor, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("a lane's descriptor: %w", err)
	}
	file := os.NewFile(uintptr(number), "lane")
	connection, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is no lane: %w", number, err)
	}
	return connection, file.Close()
}
