package messagepack

// Input finds the one input in a payload of positional and named arguments: the only positional one, or the map of the
// named ones (R18).
func Input(data []byte) ([]byte, error) {
	reader := NewReader(data)
	if length, err := reader.List(); err != nil || length != 2 {
		return nil, Faultf("not a list of positional and named arguments")
	}
	positional, err := reader.List()
	if err != nil {
		return nil, err
	}
	first := reader.rest
	if err := reader.skipValues(positional, nil); err != nil {
		return nil, err
	}
	named := reader.rest
	first = first[:len(first)-len(named)]
	names, err := reader.Map()
	if err := reader.skipValues(2*names, err); err != nil {
		return nil, err
	}
	reader.Leave()
	switch {
	case positional == 1 && names == 0:
		data = first
	case positional == 0 && names > 0:
		data = named[:len(named)-len(reader.rest)]
	case positional == 0:
		data = []byte{leadNil}
	default:
		return nil, Faultf("a Go function takes one input: give one positional argument, or named ones")
	}
	return data, reader.Finish()
}
