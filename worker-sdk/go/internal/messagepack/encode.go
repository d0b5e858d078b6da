package messagepack

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"
)

var textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()

// Append writes a value of a Go type. Nil slices and maps are empty ones, a struct without fields is nil, keys are in
// order.
func Append(to []byte, value any) ([]byte, error) {
	return appendAny(to, value, MaxDepth)
}

// AppendShallow is Append for a value that may only have so many levels.
func AppendShallow(to []byte, value any, levels int) ([]byte, error) {
	return appendAny(to, value, levels)
}

// AppendBody is Append for the body of a frame, of a type that cannot fail.
func AppendBody(to []byte, value any) []byte {
	written, err := Append(to, value)
	if err != nil {
		panic(fmt.Sprintf("a body cannot be written: %v", err))
	}
	return written
}

func appendAny(to []byte, value any, levels int) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return AppendNil(to), nil
	case bool:
		return AppendBool(to, value), nil
	case int:
		return AppendInt(to, int64(value)), nil
	case int64:
		return AppendInt(to, value), nil
	case float64:
		return AppendFloat(to, value), nil
	case string:
		return appendText(to, value)
	case []byte:
		return AppendBytes(to, value), nil
	case []any:
		return appendItems(to, len(value), levels, func(to []byte, index, levels int) ([]byte, error) {
			return appendAny(to, value[index], levels)
		})
	case map[string]any:
		return appendEntries(to, slices.Sorted(maps.Keys(value)), levels,
			func(to []byte, key string, levels int) ([]byte, error) { return appendAny(to, value[key], levels) })
	default:
		return appendValue(to, reflect.ValueOf(value), levels)
	}
}

func appendValue(to []byte, value reflect.Value, levels int) ([]byte, error) {
	kind := value.Type()
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return AppendNil(to), nil
		}
	}
	if kind == timeType {
		return AppendTime(to, value.Interface().(time.Time)), nil
	}
	if kind.Implements(textMarshalerType) {
		return marshalText(to, value)
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		// Each step costs a level, so that what points to itself comes to an end.
		if levels == 0 {
			return to, tooDeep()
		}
		return appendValue(to, value.Elem(), levels-1)
	case reflect.Slice, reflect.Array:
		return appendSequence(to, value, levels)
	case reflect.Map:
		return appendMapping(to, value, levels)
	case reflect.Struct:
		return appendStructure(to, value, levels)
	default:
		return appendScalar(to, value)
	}
}

func appendScalar(to []byte, value reflect.Value) ([]byte, error) {
	switch {
	case value.CanInt():
		return AppendInt(to, value.Int()), nil
	case value.CanUint():
		return AppendUint(to, value.Uint()), nil
	case value.CanFloat():
		return AppendFloat(to, value.Float()), nil
	case value.Kind() == reflect.Bool:
		return AppendBool(to, value.Bool()), nil
	case value.Kind() == reflect.String:
		return appendText(to, value.String())
	default:
		return to, Faultf("a %s cannot be written", value.Type())
	}
}

func appendText(to []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return to, Faultf("a string that is not UTF-8")
	}
	if uint64(len(text)) > math.MaxUint32 {
		return to, Faultf("a string of %d bytes", len(text))
	}
	return AppendText(to, text), nil
}

func marshalText(to []byte, value reflect.Value) ([]byte, error) {
	text, err := value.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return to, Faultf("%v", err)
	}
	return appendText(to, string(text))
}

func tooDeep() error { return Faultf("too many lists and maps inside each other") }
