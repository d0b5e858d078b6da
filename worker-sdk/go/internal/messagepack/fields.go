package messagepack

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A Field is a field of a struct as it travels.
type Field struct {
	Name      string
	Type      reflect.Type
	Required  bool
	Doc       string
	Rules     Rules
	index     []int
	omitEmpty bool
}

// Fields are those of one struct type, in order.
type Fields struct {
	All    []Field
	byName map[string]int
	// defaults are those fields that have a value when none comes.
	defaults []int
}

// fieldsByType holds a *Fields or an error for each struct type that was met.
var fieldsByType sync.Map

// FieldsOf reads the tags of a struct: json:"name,omitempty", doc:"…" and ganger:"…", whose words are optional,
// default=…, enum=a|b, min=… and max=….
func FieldsOf(structure reflect.Type) (*Fields, error) {
	known, ok := fieldsByType.Load(structure)
	if !ok {
		fields := &Fields{byName: map[string]int{}}
		known = any(fields)
		if err := fields.collect(structure, nil); err != nil {
			known = err
		}
		fieldsByType.Store(structure, known)
	}
	if err, failed := known.(error); failed {
		return nil, err
	}
	return known.(*Fields), nil
}

func (f *Fields) collect(structure reflect.Type, index []int) error {
	for number := range structure.NumField() {
		field := structure.Field(number)
		at := append(append([]int(nil), index...), number)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct
		switch {
		case name == "-" && options == "", !embedded && !field.IsExported():
		case embedded:
			if err := f.collect(field.Type, at); err != nil {
				return err
			}
		default:
			if err := f.add(field, name, options, at); err != nil {
				return fmt.Errorf("the field %s of %s: %w", field.Name, structure, err)
			}
		}
	}
	return nil
}

func (f *Fields) add(field reflect.StructField, name, options string, index []int) error {
	if name == "" {
		name = field.Name
	}
	if _, taken := f.byName[name]; taken {
		return fmt.Errorf("a second field named %q", name)
	}
	rules, optional, err := rulesOf(field.Type, field.Tag.Get("ganger"))
	if err != nil {
		return err
	}
	omitEmpty := hasWord(options, "omitempty") || hasWord(options, "omitzero")
	mayBeAbsent := optional || omitEmpty || rules.Default.IsValid() || field.Type.Kind() == reflect.Pointer
	f.byName[name] = len(f.All)
	if rules.Default.IsValid() {
		f.defaults = append(f.defaults, len(f.All))
	}
	f.All = append(f.All, Field{
		Name: name, Type: field.Type, Required: !mayBeAbsent, Doc: field.Tag.Get("doc"), Rules: rules,
		index: index, omitEmpty: omitEmpty,
	})
	return nil
}

func hasWord(list, word string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if item == word {
			return true
		}
	}
	return false
}
