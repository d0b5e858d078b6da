package messagepack

// A Type is one of the kinds of value that MessagePack has.
type Type uint8

// The types. Nothing is the end of the bytes, Reserved the byte that MessagePack never uses.
const (
	Nothing Type = iota
	Nil
	Bool
	Integer
	Float
	String
	Bytes
	List
	Map
	Extension
	Reserved
)

// First bytes of values; those of a family follow each other.
const (
	leadFixMap      = 0x80
	leadFixList     = 0x90
	leadFixText     = 0xa0
	leadNil         = 0xc0
	leadReserved    = 0xc1
	leadFalse       = 0xc2
	leadTrue        = 0xc3
	leadBin8        = 0xc4
	leadExt8        = 0xc7
	leadFloat32     = 0xca
	leadFloat64     = 0xcb
	leadUint8       = 0xcc
	leadInt8        = 0xd0
	leadFixExt1     = 0xd4
	leadStr8        = 0xd9
	leadList16      = 0xdc
	leadMap16       = 0xde
	leadFixNegative = 0xe0
)

func (t Type) String() string {
	return [...]string{
		"nothing", "nil", "a boolean", "an integer", "a float", "a string", "bytes", "a list", "a map", "an extension",
		"a reserved byte",
	}[t]
}

func typeOf(lead byte) Type {
	switch {
	case lead < leadFixMap || lead >= leadFixNegative:
		return Integer
	case lead < leadFixList:
		return Map
	case lead < leadFixText:
		return List
	case lead < leadNil:
		return String
	}
	return wideTypes[lead-leadNil]
}

// wideTypes are the types of the first bytes 0xc0 to 0xdf.
var wideTypes = [32]Type{
	Nil, Reserved, Bool, Bool, Bytes, Bytes, Bytes, Extension, Extension, Extension, Float, Float,
	Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer,
	Extension, Extension, Extension, Extension, Extension, String, String, String, List, List, Map, Map,
}
