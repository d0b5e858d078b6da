package messagepack

import (
	"math"
	"reflect"
	"slices"
)

func appendSequence(to []byte, value reflect.Value, levels int) ([]byte, error) {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		if uint64(value.Len()) > math.MaxUint32 {
			return to, Faultf("%d bytes", value.Len())
		}
		return AppendBytes(to, bytesOf(value)), nil
	}
	return appendItems(to, value.Len(), levels, func(to []byte, index, levels int) ([]byte, error) {
		return appendValue(to, value.Index(index), levels)
	})
}

func appendMapping(to []byte, value reflect.Value, levels int) ([]byte, error) {
	if value.Type().Key().Kind() != reflect.String {
		return to, Faultf("a %s cannot be written: keys are strings", value.Type())
	}
	byName := make(map[string]reflect.Value, value.Len())
	names := make([]string, 0, value.Len())
	for entry := value.MapRange(); entry.Next(); {
		name := entry.Key().String()
		byName[name] = entry.Value()
		names = append(names, name)
	}
	slices.Sort(names)
	return appendEntries(to, names, levels, func(to []byte, name string, levels int) ([]byte, error) {
		return appendValue(to, byName[name], levels)
	})
}

func appendStructure(to []byte, value reflect.Value, levels int) ([]byte, error) {
	fields, err := FieldsOf(value.Type())
	if err != nil {
		return to, Faultf("%v", err)
	}
	if len(fields.All) == 0 {
		return AppendNil(to), nil
	}
	if levels == 0 {
		return to, tooDeep()
	}
	written := 0
	for index := range fields.All {
		if !fields.All[index].isLeftOut(value) {
			written++
		}
	}
	to = AppendMap(to, written)
	for index := range fields.All {
		field := &fields.All[index]
		if field.isLeftOut(value) {
			continue
		}
		to = AppendText(to, field.Name)
		if to, err = appendValue(to, value.FieldByIndex(field.index), levels-1); err != nil {
			return to, within(field.Name, err)
		}
	}
	return to, nil
}

func (f *Field) isLeftOut(structure reflect.Value) bool {
	if !f.omitEmpty {
		return false
	}
	value := structure.FieldByIndex(f.index)
	switch value.Kind() {
	case reflect.Slice, reflect.Map:
		return value.Len() == 0
	default:
		return value.IsZero()
	}
}

func appendItems(
	to []byte, length, levels int, item func(to []byte, index, levels int) ([]byte, error),
) ([]byte, error) {
	if levels == 0 {
		return to, tooDeep()
	}
	to = AppendList(to, length)
	var err error
	for index := range length {
		if to, err = item(to, index, levels-1); err != nil {
			return to, withinItem(index, err)
		}
	}
	return to, nil
}

func appendEntries(
	to []byte, names []string, levels int, value func(to []byte, name string, levels int) ([]byte, error),
) ([]byte, error) {
	if levels == 0 {
		return to, tooDeep()
	}
	to = AppendMap(to, len(names))
	var err error
	for _, name := range names {
		if to, err = appendText(to, name); err != nil {
			return to, err
		}
		if to, err = value(to, name, levels-1); err != nil {
			return to, within(name, err)
		}
	}
	return to, nil
}

func bytesOf(value reflect.Value) []byte {
	if value.Kind() == reflect.Slice {
		return value.Bytes()
	}
	data := make([]byte, value.Len())
	reflect.Copy(reflect.ValueOf(data), value)
	return data
}
