package worker

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// A Contract as the type of a blank field lets the struct of a function's input carry what the function promises, in
// tags named like the options; those given to Function win over them.
//
//	type Convert struct {
//		_      worker.Contract `summary:"Converts a price" idempotent:"true" timeout:"5s" slots:"2" weight:"10" exclusive:"worker"`
//		Amount float64         `json:"amount"`
//	}
//
// A tag name gives the function's name where Function is given none.
type Contract struct{}

func (o *offer) readTags(input reflect.Type) {
	if input.Kind() != reflect.Struct {
		return
	}
	for index := range input.NumField() {
		field := input.Field(index)
		if field.Name != "_" || field.Type != reflect.TypeFor[Contract]() {
			continue
		}
		for _, known := range contractTags {
			text, given := field.Tag.Lookup(known.name)
			if !given {
				continue
			}
			option, err := known.read(text)
			if err != nil {
				o.refuse(fmt.Errorf("the tag %s of its contract: %w", known.name, err))
			} else {
				option(o)
			}
		}
	}
}

var contractTags = []struct {
	name string
	read func(text string) (Option, error)
}{
	{"name", func(text string) (Option, error) { return named(text), nil }},
	{"summary", func(text string) (Option, error) { return Summary(text), nil }},
	{"exclusive", func(text string) (Option, error) { return Exclusive(text), nil }},
	{"idempotent", func(text string) (Option, error) {
		promised, err := strconv.ParseBool(text)
		return func(o *offer) { o.contract.Idempotent = promised }, err
	}},
	{"slots", func(text string) (Option, error) {
		count, err := strconv.ParseUint(text, 10, 32)
		return Slots(uint32(count)), err
	}},
	{"weight", func(text string) (Option, error) {
		weight, err := strconv.ParseUint(text, 10, 8)
		return Weight(uint8(weight)), err
	}},
	{"coefficient", func(text string) (Option, error) {
		factor, err := strconv.ParseFloat(text, 64)
		return Coefficient(factor), err
	}},
	{"timeout", func(text string) (Option, error) {
		limit, err := time.ParseDuration(text)
		return Timeout(limit), err
	}},
}

// named gives a name to a function that has none.
func named(name string) Option {
	return func(o *offer) {
		if o.contract.Name == "" {
			o.contract.Name = name
		}
	}
}
