package schema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

type tree struct {
	Name     string  `json:"name" doc:"What it is called" ganger:"min=1"`
	Children []*tree `json:"children,omitempty"`
}

func TestTypesAreDescribed(t *testing.T) {
	for want, value := range map[string]any{
		`{"type":"boolean"}`:                                                   true,
		`{"type":"integer"}`:                                                   int8(1),
		`{"minimum":0,"type":"integer"}`:                                       uint16(1),
		`{"type":"number"}`:                                                    float32(1),
		`{"contentEncoding":"base64","type":"string"}`:                         []byte{},
		`{"format":"date-time","type":"string"}`:                               time.Time{},
		`{"type":"string"}`:                                                    netip.Addr{},
		`{"type":"null"}`:                                                      struct{}{},
		`{"items":{},"type":"array"}`:                                          []any{},
		`{"anyOf":[{"type":"integer"},{"type":"null"}]}`:                       new(int),
		`{"additionalProperties":{},"type":"object"}`:                          map[string]any{},
		`{"items":{"type":"number"},"maxItems":2,"minItems":2,"type":"array"}`: [2]float64{},
		`{"properties":{"currency":{"default":"EUR","enum":["EUR","USD"],"type":"string"},"share":{"maximum":0.5,"type":"number"}},` +
			`"required":["share"],"type":"object"}`: struct {
			Currency string  `json:"currency" ganger:"enum=EUR|USD,default=EUR"`
			Share    float64 `json:"share" ganger:"max=0.5"`
			hidden   chan int
		}{},
		`{"$defs":{"tree":{"properties":{"children":{"items":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},"type":"array"},` +
			`"name":{"description":"What it is called","minLength":1,"type":"string"}},"required":["name"],"type":"object"}},` +
			`"$ref":"#/$defs/tree"}`: tree{},
	} {
		schema, err := Of(reflect.TypeOf(value))
		if text, _ := json.Marshal(schema); err != nil || string(text) != want {
			t.Errorf("%T: %s, %v\nwant %s", value, text, err, want)
		}
	}
}

func TestAnythingHasNoSchema(t *testing.T) {
	if schema, err := Of(reflect.TypeFor[any]()); schema != nil || err != nil {
		t.Errorf("%v, %v", schema, err)
	}
}

func TestWhatCannotTravelIsTold(t *testing.T) {
	for _, value := range []any{
		make(chan int), func() {}, 1i, map[int]string{}, []error{}, struct{ Socket chan int }{},
	} {
		if schema, err := Of(reflect.TypeOf(value)); err == nil {
			t.Errorf("%T: %v", value, schema)
		}
	}
}
