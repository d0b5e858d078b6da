package messagepack

import (
	"encoding"
	"reflect"
	"time"
)

var (
	timeType            = reflect.TypeFor[time.Time]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Decode reads a payload into what a pointer points to. Bytes are views of the payload.
func Decode(data []byte, into any) error {
	return decode(NewReader(data), into)
}

// DecodeBody reads the body of a frame.
func DecodeBody(data []byte, into any) error {
	return decode(NewBodyReader(data), into)
}

// SetBytes puts a payload that is bytes as it stands into what a pointer points to.
func SetBytes(data []byte, into any) error {
	target := reflect.ValueOf(into).Elem()
	switch {
	case isBytes(target.Type()):
		target.SetBytes(data)
		return nil
	case target.Kind() == reflect.Interface && target.NumMethod() == 0:
		target.Set(reflect.ValueOf(data))
		return nil
	default:
		return Decode(AppendBytes(nil, data), into)
	}
}

func decode(reader *Reader, into any) error {
	if err := reader.value(reflect.ValueOf(into).Elem()); err != nil {
		return err
	}
	return reader.Finish()
}

// value reads the next value into a place of a Go type.
func (r *Reader) value(target reflect.Value) error {
	kind := target.Type()
	switch target.Kind() {
	case reflect.Pointer:
		return r.pointer(target)
	case reflect.Interface:
		return r.free(target)
	}
	if kind == timeType {
		moment, err := r.Time()
		target.Set(reflect.ValueOf(moment))
		return err
	}
	if kind.Kind() != reflect.Interface && reflect.PointerTo(kind).Implements(textUnmarshalerType) {
		return r.unmarshalText(target)
	}
	if isScalar(target.Kind()) {
		return r.scalar(target)
	}
	return r.composite(target)
}

func (r *Reader) scalar(target reflect.Value) error {
	switch {
	case target.CanInt():
		value, err := r.Int(target.Type().Bits())
		target.SetInt(value)
		return err
	case target.CanUint():
		value, err := r.Uint(target.Type().Bits())
		target.SetUint(value)
		return err
	case target.CanFloat():
		value, err := r.Float()
		target.SetFloat(value)
		return err
	case target.Kind() == reflect.Bool:
		value, err := r.Bool()
		target.SetBool(value)
		return err
	default:
		text, err := r.Text()
		target.SetString(string(text))
		return err
	}
}

func (r *Reader) pointer(target reflect.Value) error {
	if r.Nil() {
		target.SetZero()
		return nil
	}
	if target.IsNil() {
		target.Set(reflect.New(target.Type().Elem()))
	}
	return r.value(target.Elem())
}

func (r *Reader) free(target reflect.Value) error {
	if target.NumMethod() > 0 {
		return Faultf("the Go type %s cannot be read", target.Type())
	}
	value, err := r.Any()
	if err == nil && value != nil {
		target.Set(reflect.ValueOf(value))
	} else {
		target.SetZero()
	}
	return err
}

func (r *Reader) unmarshalText(target reflect.Value) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	if err := target.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
		return Faultf("%v", err)
	}
	return nil
}

func isScalar(kind reflect.Kind) bool {
	return kind >= reflect.Bool && kind <= reflect.Float64 || kind == reflect.String
}

func isBytes(kind reflect.Type) bool {
	return kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Uint8
}
