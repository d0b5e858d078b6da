package messagepack

import "math"

// Any reads a value of any type: nil, bool, int64 (uint64 beyond), float64, string, []byte, []any, map[string]any or
// time.Time.
func (r *Reader) Any() (any, error) {
	switch r.Peek() {
	case Nil:
		r.lead()
		return nil, nil
	case Bool:
		return r.Bool()
	case Integer:
		value, negative, err := r.integer()
		if !negative && value > math.MaxInt64 {
			return value, err
		}
		return int64(value), err
	case Float:
		return r.Float()
	case String:
		text, err := r.Text()
		return string(text), err
	case Bytes:
		return r.Bytes()
	case List:
		return r.anyList()
	case Map:
		return r.anyMap()
	case Extension:
		return r.Time()
	default:
		return nil, r.wrong("a value")
	}
}

func (r *Reader) anyList() (any, error) {
	length, err := r.List()
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, min(length, maxGuess))
	for index := range length {
		item, err := r.Any()
		if err != nil {
			return nil, withinItem(index, err)
		}
		list = append(list, item)
	}
	r.Leave()
	return list, nil
}

func (r *Reader) anyMap() (any, error) {
	length, err := r.Map()
	if err != nil {
		return nil, err
	}
	entries := make(map[string]any, min(length, maxGuess))
	for range length {
		key, err := r.Key()
		if err != nil {
			return nil, err
		}
		value, err := r.Any()
		if err != nil {
			return nil, within(string(key), err)
		}
		entries[string(key)] = value
	}
	r.Leave()
	return entries, nil
}
