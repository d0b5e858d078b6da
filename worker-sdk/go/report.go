package worker

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

const (
	maxMessage       = 64 << 10
	maxTraceback     = 256 << 10
	maxProperty      = 64 << 10
	maxProperties    = 512 << 10
	maxPropertyDepth = 24
	maxCauses        = 16
)

var errorType = reflect.TypeFor[error]()

// failed is the end of a call whose function returned an error.
func failed(err error) outcome {
	var item *unencodable
	var unfit *unfitItem
	switch {
	case errors.As(err, &item):
		return outcome{report: misfitOf(wire.InvalidResult, item)}
	case errors.As(err, &unfit):
		return outcome{report: misfitOf(wire.InvalidInput, unfit)}
	}
	return outcome{report: reportOf(err), stopped: safely(func() bool { return isStop(err) })}
}

// reportOf reports an error and its causes. Making the report never fails, whatever the error does (R32).
func reportOf(err error) *wire.Report {
	report := describe(err)
	report.Code = wire.CallFailed
	last := report
	for range maxCauses {
		if err = safely(func() error { return causeOf(err) }); err == nil {
			break
		}
		last.Cause = describe(err)
		last = last.Cause
	}
	return report
}

func describe(err error) *wire.Report {
	report := &wire.Report{Type: typeName(err), Language: wire.Language, Message: "<the message cannot be shown>"}
	safely(func() any {
		report.Message = clean(err.Error(), maxMessage)
		return nil
	})
	safely(func() any {
		report.Properties, report.Dropped = properties(err)
		return nil
	})
	return report
}

// causeOf is the error that one wraps; of several, the first.
func causeOf(err error) error {
	if many, wraps := err.(interface{ Unwrap() []error }); wraps {
		for _, cause := range many.Unwrap() {
			return cause
		}
	}
	return errors.Unwrap(err)
}

// typeName is the type as it is written in Go, without a pointer; those of errors.New and its like are just errors.
func typeName(err error) string {
	name := strings.TrimLeft(fmt.Sprintf("%T", err), "*")
	switch name {
	case "errors.errorString", "errors.joinError", "fmt.wrapError", "fmt.wrapErrors":
		return "error"
	}
	return clean(name, maxMessage)
}

// properties are the exported fields of an error that can be written, and the names of those that cannot.
func properties(err error) (found map[string]any, dropped []string) {
	value := reflect.Indirect(reflect.ValueOf(err))
	if value.Kind() != reflect.Struct {
		return nil, nil
	}
	size := 0
	for index := range value.NumField() {
		field := value.Type().Field(index)
		if !field.IsExported() || field.Type.Implements(errorType) {
			continue // an error within is a cause
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		plain, length, fits := plainValue(value.Field(index).Interface())
		if size += length; !fits || size > maxProperties {
			dropped = append(dropped, name)
			continue
		}
		if found == nil {
			found = map[string]any{}
		}
		found[name] = plain
	}
	return found, dropped
}

// plainValue is a value as others see it, if it can be written and is not too much.
func plainValue(value any) (plain any, length int, fits bool) {
	fits = safely(func() bool {
		written, err := messagepack.AppendShallow(nil, value, maxPropertyDepth)
		length = len(written)
		return err == nil && length <= maxProperty && messagepack.Decode(written, &plain) == nil
	})
	return plain, length, fits
}

// safely runs what calls methods of the user's; if they panic, its result is the zero value.
func safely[T any](run func() T) (result T) {
	defer func() {
		if recover() != nil {
			result = *new(T)
		}
	}()
	return run()
}

// clean makes a text UTF-8 and no longer than a limit.
func clean(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	const mark = " … (cut)"
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}
