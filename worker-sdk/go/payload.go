package worker

import (
	"errors"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/session"
	"ganger.dev/worker/internal/wire"
)

// An outcome is how a call ends: with a payload or with a report.
type outcome struct {
	encoding wire.Encoding
	payload  []byte
	report   *wire.Report
	// stopped says that the report tells of a call that ended because its context did.
	stopped bool
}

// decodeInput reads the input of a call (R18, R19, R23).
func decodeInput[In any](run *session.Run) (input In, misfit *wire.Report) {
	payload := run.Payload
	var err error
	if run.Call.Arguments && run.Encoding == wire.MessagePack {
		payload, err = messagepack.Input(payload)
	}
	if err == nil {
		input, err = decodeItem[In](run.Encoding, payload)
	}
	if err != nil {
		misfit = misfitOf(wire.InvalidInput, err)
	}
	return input, misfit
}

func decodeItem[T any](encoding wire.Encoding, payload []byte) (item T, err error) {
	switch encoding {
	case wire.MessagePack:
		err = messagepack.Decode(payload, &item)
	case wire.Raw:
		err = messagepack.SetBytes(payload, &item)
	default:
		err = messagepack.Faultf("its encoding is not read by Go workers")
	}
	return item, err
}

// encodeOutput writes a result or an item (R20).
func encodeOutput(value any) outcome {
	encoding, payload, err := encode(value)
	if err != nil {
		return outcome{report: misfitOf(wire.InvalidResult, err)}
	}
	return outcome{encoding: encoding, payload: payload}
}

func encode(value any) (wire.Encoding, []byte, error) {
	if bytes, are := value.([]byte); are {
		return wire.Raw, bytes, nil
	}
	payload, err := messagepack.Append(nil, value)
	return wire.MessagePack, payload, err
}

// misfitOf reports a value that does not fit, with its place.
func misfitOf(code string, err error) *wire.Report {
	report := wire.NewReport(code, clean(err.Error(), maxMessage))
	path := "$"
	var fault *messagepack.Fault
	if errors.As(err, &fault) {
		path = clean(fault.Path(), maxMessage)
	}
	report.Path = &path
	return report
}
