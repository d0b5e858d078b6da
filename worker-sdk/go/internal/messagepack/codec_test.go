package messagepack_test

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"ganger.dev/worker/internal/messagepack"
)

type line struct {
	Article string   `json:"article"`
	Count   uint8    `json:"count" ganger:"min=1,max=100"`
	Price   float32  `json:"price" ganger:"default=1.5"`
	Tags    []string `json:"tags,omitempty"`
}

type order struct {
	base
	Lines    []line         `json:"lines" ganger:"max=3"`
	Currency string         `json:"currency" ganger:"enum=EUR|USD,default=EUR"`
	Note     *string        `json:"note"`
	From     netip.Addr     `json:"from" ganger:"optional"`
	When     time.Time      `json:"when" ganger:"optional"`
	Extra    map[string]any `json:"extra" ganger:"optional"`
	Digest   [2]byte        `json:"digest" ganger:"optional"`
	hidden   int
}

type base struct {
	ID int64 `json:"id"`
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	written, err := messagepack.Append(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func TestAStructComesBackAsItWent(t *testing.T) {
	note := "grüße 🌍"
	sent := order{
		base: base{ID: -1 << 62}, Lines: []line{{Article: "a", Count: 3, Price: 0.5, Tags: []string{"x"}}},
		Currency: "USD", Note: &note, From: netip.MustParseAddr("10.0.0.1"), When: time.Unix(1, 2).UTC(),
		Extra: map[string]any{"deep": []any{int64(1), nil}}, Digest: [2]byte{1, 2},
	}
	var got order
	if err := messagepack.Decode(encoded(t, sent), &got); err != nil || !reflect.DeepEqual(got, sent) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestAbsentFieldsHaveTheirDefaultsAndUnknownOnesAreIgnored(t *testing.T) {
	var got order
	sent := map[string]any{"id": 1, "lines": []any{map[string]any{"article": "b", "count": 1}}, "more": []any{}}
	if err := messagepack.Decode(encoded(t, sent), &got); err != nil {
		t.Fatal(err)
	}
	if got.Currency != "EUR" || got.Lines[0].Price != 1.5 || got.Note != nil {
		t.Fatalf("%+v", got)
	}
}

func TestAMisfitNamesItsPlace(t *testing.T) {
	one := map[string]any{"article": "a", "count": 1}
	with := func(name string, value any) map[string]any {
		return map[string]any{"id": 1, "lines": []any{one}, name: value}
	}
	for path, sent := range map[string]any{
		"$":                with("id", 1)["id"],
		"$.id":             with("id", 1.5),
		"$.lines":          map[string]any{"id": 1},
		"$.lines[1].count": with("lines", []any{one, map[string]any{"article": "b", "count": 256}}),
		"$.lines[0].count": with("lines", []any{map[string]any{"article": "b", "count": 0}}),
		"$.currency":       with("currency", "GBP"),
		"$.note":           with("note", 3),
		"$.from":           with("from", "nowhere"),
		"$.when":           with("when", "today"),
		"$.digest":         with("digest", []byte{1}),
		"$.extra":          with("extra", 3),
	} {
		var got order
		var fault *messagepack.Fault
		err := messagepack.Decode(encoded(t, sent), &got)
		if !errors.As(err, &fault) || fault.Path() != path {
			t.Errorf("%v, want a fault at %s", err, path)
		}
	}
}

func TestWhatCannotBeWrittenNamesItsPlace(t *testing.T) {
	type knot struct{ Next *knot }
	circle := &knot{}
	circle.Next = circle
	for path, value := range map[string]any{
		"$.socket":  map[string]any{"socket": make(chan int)},
		"$[1].key":  []any{0, map[string]string{"key": "\xff"}},
		"$.numbers": map[string]any{"numbers": map[int]int{1: 2}},
		"$.Next":    circle,
	} {
		_, err := messagepack.Append(nil, value)
		var fault *messagepack.Fault
		if !errors.As(err, &fault) || !strings.HasPrefix(fault.Path(), path) {
			t.Errorf("%v, want a fault at %s", err, path)
		}
	}
}

func TestEmptyListsAndMapsAreNotNil(t *testing.T) {
	sent := struct {
		List []int
		Map  map[string]int
		None struct{}
	}{}
	var got any
	if err := messagepack.Decode(encoded(t, sent), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"List": []any{}, "Map": map[string]any{}, "None": nil}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%#v", got)
	}
}

func TestTagsThatSayNothingAreTold(t *testing.T) {
	integer := reflect.TypeFor[int]()
	field := func(name string, tag reflect.StructTag) reflect.StructField {
		return reflect.StructField{Name: name, Type: integer, Tag: tag}
	}
	for _, fields := range [][]reflect.StructField{
		{field("A", `ganger:"required"`)},
		{field("A", `ganger:"enum=1|2"`)},
		{field("A", `ganger:"min=low"`)},
		{field("A", `json:"x"`), field("B", `json:"x"`)},
	} {
		if _, err := messagepack.FieldsOf(reflect.StructOf(fields)); err == nil {
			t.Errorf("%v is taken", fields)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"\xc0", "\x82\xa2id\x01\xa5lines\x90", "\x93\x01\xcb\xc4", "\xd7\xff\x00", "\xc7\x0c\xff", "\xdd\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var typed order
		_ = messagepack.Decode(data, &typed)
		var free any
		if messagepack.Decode(data, &free) != nil {
			return
		}
		// What was read can be written, and means the same.
		written := encoded(t, free)
		var again any
		if err := messagepack.Decode(written, &again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded(t, again), written) {
			t.Fatalf("%#v became %#v", free, again)
		}
	})
}
