package messagepack

import "reflect"

// composite reads lists, bytes, maps and structs.
func (r *Reader) composite(target reflect.Value) error {
	switch target.Kind() {
	case reflect.Slice:
		if isBytes(target.Type()) {
			data, err := r.Bytes()
			target.SetBytes(data)
			return err
		}
		return r.slice(target)
	case reflect.Array:
		return r.array(target)
	case reflect.Map:
		return r.mapping(target)
	case reflect.Struct:
		return r.structure(target)
	default:
		return Faultf("the Go type %s cannot be read", target.Type())
	}
}

func (r *Reader) slice(target reflect.Value) error {
	length, err := r.List()
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(target.Type(), 0, min(length, maxGuess))
	item := reflect.New(target.Type().Elem()).Elem()
	for index := range length {
		item.SetZero()
		if err := r.value(item); err != nil {
			return withinItem(index, err)
		}
		list = reflect.Append(list, item)
	}
	r.Leave()
	target.Set(list)
	return nil
}

// maxGuess is for how many items room is made before they are seen: a byte of the wire may be a large Go value.
const maxGuess = 4096

func (r *Reader) array(target reflect.Value) error {
	if target.Type().Elem().Kind() == reflect.Uint8 && r.Peek() == Bytes {
		data, err := r.Bytes()
		if err == nil && len(data) != target.Len() {
			return Faultf("%d bytes, not %d", len(data), target.Len())
		}
		reflect.Copy(target, reflect.ValueOf(data))
		return err
	}
	length, err := r.List()
	if err != nil {
		return err
	}
	if length != target.Len() {
		return Faultf("%d items, not %d", length, target.Len())
	}
	for index := range length {
		if err := r.value(target.Index(index)); err != nil {
			return withinItem(index, err)
		}
	}
	r.Leave()
	return nil
}

func (r *Reader) mapping(target reflect.Value) error {
	kind := target.Type()
	if kind.Key().Kind() != reflect.String {
		return Faultf("the Go type %s cannot be read: keys are strings", kind)
	}
	length, err := r.Map()
	if err != nil {
		return err
	}
	entries := reflect.MakeMapWithSize(kind, min(length, maxGuess))
	key, value := reflect.New(kind.Key()).Elem(), reflect.New(kind.Elem()).Elem()
	for range length {
		name, err := r.Key()
		if err != nil {
			return err
		}
		key.SetString(string(name))
		value.SetZero()
		if err := r.value(value); err != nil {
			return within(string(name), err)
		}
		entries.SetMapIndex(key, value)
	}
	r.Leave()
	target.Set(entries)
	return nil
}

func (r *Reader) structure(target reflect.Value) error {
	fields, err := FieldsOf(target.Type())
	if err != nil {
		return Faultf("%v", err)
	}
	if len(fields.All) == 0 && r.Nil() {
		return nil
	}
	length, err := r.Map()
	if err != nil {
		return err
	}
	for _, index := range fields.defaults {
		field := &fields.All[index]
		target.FieldByIndex(field.index).Set(field.Rules.Default)
	}
	seen := make([]bool, len(fields.All))
	for range length {
		if err := r.entry(target, fields, seen); err != nil {
			return err
		}
	}
	r.Leave()
	for index := range fields.All {
		if field := &fields.All[index]; field.Required && !seen[index] {
			return within(field.Name, Faultf("is missing"))
		}
	}
	return nil
}

// entry reads one key and its value into the field of that name; keys without a field are passed over.
func (r *Reader) entry(target reflect.Value, fields *Fields, seen []bool) error {
	name, err := r.Key()
	if err != nil {
		return err
	}
	index, known := fields.byName[string(name)]
	if !known {
		return r.Skip()
	}
	field := &fields.All[index]
	seen[index] = true
	place := target.FieldByIndex(field.index)
	// What is nil in Go when it is absent may be nil.
	if !field.Required && (place.Kind() == reflect.Slice || place.Kind() == reflect.Map) && r.Nil() {
		return nil
	}
	if err := r.value(place); err != nil {
		return within(field.Name, err)
	}
	if err := field.Rules.check(place); err != nil {
		return within(field.Name, err)
	}
	return nil
}
