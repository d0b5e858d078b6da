package messagepack_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"testing"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/notation"
)

type goldenValue struct {
	Name     string
	Hex      string
	Value    any
	Shortest bool
}

func TestGoldenValues(t *testing.T) {
	var file struct{ Values []goldenValue }
	if err := notation.Load("vectors/values.json", &file); err != nil || len(file.Values) < 80 {
		t.Fatalf("%d values, %v", len(file.Values), err)
	}
	for _, golden := range file.Values {
		t.Run(golden.Name, func(t *testing.T) {
			var read any
			if err := messagepack.Decode(notation.Hex(golden.Hex), &read); err != nil {
				t.Fatal(err)
			}
			want := notation.Value(golden.Value)
			if !same(read, want) {
				t.Fatalf("read %#v, want %#v", read, want)
			}
			// Go's maps have no order; the codec's is that of the keys.
			if golden.Shortest && golden.Name != "map keeps its order" {
				checkWritten(t, want, golden.Hex)
			}
		})
	}
}

func checkWritten(t *testing.T, value any, want string) {
	t.Helper()
	written, err := messagepack.Append(nil, value)
	if err != nil || hex.EncodeToString(written) != want {
		t.Fatalf("wrote %x (%v), want %s", written, err, want)
	}
}

func TestMalformedValues(t *testing.T) {
	var file struct {
		Values []struct{ Name, Hex, Error string }
	}
	if err := notation.Load("vectors/malformed.json", &file); err != nil || len(file.Values) < 20 {
		t.Fatalf("%d values, %v", len(file.Values), err)
	}
	for _, malformed := range file.Values {
		var read any
		if err := messagepack.Decode(notation.Hex(malformed.Hex), &read); err == nil {
			t.Errorf("%s was read as %#v, want %s", malformed.Name, read, malformed.Error)
		}
	}
}

func same(one, other any) bool {
	a, isFloat := one.(float64)
	b, areFloats := other.(float64)
	if isFloat && areFloats {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
	}
	return reflect.DeepEqual(one, other)
}
