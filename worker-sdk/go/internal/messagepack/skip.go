package messagepack

// Skip passes over one value. Nothing in it is looked at but its lengths and its depth.
func (r *Reader) Skip() error {
	switch r.Peek() {
	case Nil, Bool:
		r.lead()
		return nil
	case Integer:
		_, _, err := r.integer()
		return err
	case Float:
		_, err := r.Float()
		return err
	case String:
		_, err := r.rawText()
		return err
	case Bytes:
		_, err := r.Bytes()
		return err
	case List:
		length, err := r.List()
		return r.skipValues(length, err)
	case Map:
		length, err := r.Map()
		return r.skipValues(2*length, err)
	case Extension:
		_, _, err := r.extension()
		return err
	default:
		return r.wrong("a value")
	}
}

func (r *Reader) skipValues(count int, err error) error {
	for ; err == nil && count > 0; count-- {
		err = r.Skip()
	}
	r.Leave()
	return err
}

// extension reads an extension: its number and its bytes.
func (r *Reader) extension() (int8, []byte, error) {
	lead := r.lead()
	length := uint64(1)
	if lead < leadFixExt1 {
		var err error
		if length, err = r.fixed(1 << (lead - leadExt8)); err != nil {
			return 0, nil, err
		}
	} else {
		length <<= lead - leadFixExt1
	}
	number, err := r.fixed(1)
	if err != nil {
		return 0, nil, err
	}
	data, err := r.take(length)
	return int8(number), data, err
}
