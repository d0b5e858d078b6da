package schema

import (
	"maps"

	"ganger.dev/worker/internal/messagepack"
)

// ruled adds to the schema of a field's type what its tags say.
func ruled(schema Object, field *messagepack.Field) Object {
	schema = maps.Clone(schema)
	least, most := "minimum", "maximum"
	switch schema["type"] {
	case "string":
		least, most = "minLength", "maxLength"
	case "array":
		least, most = "minItems", "maxItems"
	case "object":
		least, most = "minProperties", "maxProperties"
	}
	if field.Rules.Min != nil {
		schema[least] = whole(*field.Rules.Min)
	}
	if field.Rules.Max != nil {
		schema[most] = whole(*field.Rules.Max)
	}
	if field.Rules.Enum != nil {
		choices := []any{}
		for _, choice := range field.Rules.Enum {
			choices = append(choices, choice)
		}
		schema["enum"] = choices
	}
	if field.Rules.Default.IsValid() {
		schema["default"] = field.Rules.Default.Interface()
	}
	if field.Doc != "" {
		schema["description"] = field.Doc
	}
	return schema
}

// whole writes 3 for 3.0.
func whole(number float64) any {
	if integer := int64(number); float64(integer) == number {
		return integer
	}
	return number
}
