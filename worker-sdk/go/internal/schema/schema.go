// Package schema describes Go types as JSON Schemas, and finds the types that no value of the protocol fits.
package schema

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"time"

	"ganger.dev/worker/internal/messagepack"
)

// Object is a JSON Schema.
type Object = map[string]any

var (
	timeType            = reflect.TypeFor[time.Time]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Of is the schema of a type, nil for one that takes anything.
func Of(kind reflect.Type) (Object, error) {
	builder := builder{definitions: Object{}, open: map[reflect.Type]string{}}
	schema, err := builder.of(kind)
	if err != nil {
		return nil, err
	}
	if len(schema) == 0 {
		return nil, nil
	}
	if len(builder.definitions) > 0 {
		schema = maps.Clone(schema)
		schema["$defs"] = builder.definitions
	}
	return schema, nil
}

type builder struct {
	definitions Object
	// open are the structs that are being described, with their names once something inside refers to them.
	open map[reflect.Type]string
}

func (b *builder) of(kind reflect.Type) (Object, error) {
	switch {
	case kind == timeType:
		return Object{"type": "string", "format": "date-time"}, nil
	case isText(kind):
		return Object{"type": "string"}, nil
	}
	switch kind.Kind() {
	case reflect.Bool:
		return Object{"type": "boolean"}, nil
	case reflect.String:
		return Object{"type": "string"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Object{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Object{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number"}, nil
	case reflect.Interface:
		if kind.NumMethod() == 0 {
			return Object{}, nil
		}
	case reflect.Pointer:
		return b.pointer(kind)
	case reflect.Slice, reflect.Array:
		return b.sequence(kind)
	case reflect.Map:
		if kind.Key().Kind() == reflect.String {
			values, err := b.of(kind.Elem())
			return Object{"type": "object", "additionalProperties": values}, err
		}
		return nil, fmt.Errorf("a %s cannot travel: keys are strings", kind)
	case reflect.Struct:
		return b.structure(kind)
	}
	return nil, fmt.Errorf("a %s cannot travel", kind)
}

func (b *builder) pointer(kind reflect.Type) (Object, error) {
	pointed, err := b.of(kind.Elem())
	if err != nil || len(pointed) == 0 {
		return pointed, err
	}
	return Object{"anyOf": []any{pointed, Object{"type": "null"}}}, nil
}

func (b *builder) sequence(kind reflect.Type) (Object, error) {
	if kind.Elem().Kind() == reflect.Uint8 {
		return Object{"type": "string", "contentEncoding": "base64"}, nil
	}
	items, err := b.of(kind.Elem())
	schema := Object{"type": "array", "items": items}
	if kind.Kind() == reflect.Array {
		schema["minItems"], schema["maxItems"] = kind.Len(), kind.Len()
	}
	return schema, err
}

// structure describes a struct in place, or as a definition if it refers to itself.
func (b *builder) structure(kind reflect.Type) (Object, error) {
	if name, isOpen := b.open[kind]; isOpen {
		if name == "" {
			name = b.freeName(kind)
			b.open[kind] = name
			b.definitions[name] = nil
		}
		return Object{"$ref": "#/$defs/" + name}, nil
	}
	b.open[kind] = ""
	defer delete(b.open, kind)
	schema, err := b.fields(kind)
	if name := b.open[kind]; err == nil && name != "" {
		b.definitions[name] = schema
		return Object{"$ref": "#/$defs/" + name}, nil
	}
	return schema, err
}

func (b *builder) freeName(kind reflect.Type) string {
	name := kind.Name()
	for number := 2; ; number++ {
		if _, taken := b.definitions[name]; !taken {
			return name
		}
		name = fmt.Sprintf("%s%d", kind.Name(), number)
	}
}

func (b *builder) fields(kind reflect.Type) (Object, error) {
	fields, err := messagepack.FieldsOf(kind)
	if err != nil {
		return nil, err
	}
	if len(fields.All) == 0 {
		return Object{"type": "null"}, nil
	}
	properties, required := Object{}, []any{}
	for index := range fields.All {
		field := &fields.All[index]
		described, err := b.of(field.Type)
		if err != nil {
			return nil, fmt.Errorf("the field %s of %s: %w", field.Name, kind, err)
		}
		properties[field.Name] = ruled(described, field)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	schema := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

func isText(kind reflect.Type) bool {
	return kind.Kind() != reflect.Interface && kind.Kind() != reflect.Pointer &&
		(kind.Implements(textMarshalerType) || reflect.PointerTo(kind).Implements(textUnmarshalerType))
}
