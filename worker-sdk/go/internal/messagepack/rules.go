package messagepack

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rules are what a field demands beyond its type. Min and Max hold for a number's value, a string's characters and a
// list's items.
type Rules struct {
	Min, Max *float64
	Enum     []string
	// Default is the zero Value if there is none.
	Default reflect.Value
}

// rulesOf reads a ganger tag.
func rulesOf(kind reflect.Type, tag string) (rules Rules, optional bool, err error) {
	if tag == "" {
		return rules, false, nil
	}
	for word := range strings.SplitSeq(tag, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		switch name {
		case "optional":
			optional = true
		case "min":
			rules.Min, err = number(value)
		case "max":
			rules.Max, err = number(value)
		case "enum":
			rules.Enum = strings.Split(value, "|")
			if kind.Kind() != reflect.String {
				err = fmt.Errorf("enum is for strings")
			}
		case "default":
			rules.Default, err = defaultOf(kind, value)
		default:
			err = fmt.Errorf("the tag ganger has no word %q", name)
		}
		if err != nil {
			return rules, false, err
		}
	}
	return rules, optional, nil
}

func number(text string) (*float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	return &value, err
}

func defaultOf(kind reflect.Type, text string) (reflect.Value, error) {
	value := reflect.New(kind).Elem()
	var err error
	switch {
	case value.CanInt():
		var integer int64
		integer, err = strconv.ParseInt(text, 10, kind.Bits())
		value.SetInt(integer)
	case value.CanUint():
		var integer uint64
		integer, err = strconv.ParseUint(text, 10, kind.Bits())
		value.SetUint(integer)
	case value.CanFloat():
		var float float64
		float, err = strconv.ParseFloat(text, kind.Bits())
		value.SetFloat(float)
	case kind.Kind() == reflect.Bool:
		var boolean bool
		boolean, err = strconv.ParseBool(text)
		value.SetBool(boolean)
	case kind.Kind() == reflect.String:
		value.SetString(text)
	default:
		err = fmt.Errorf("a %s has no default", kind)
	}
	return value, err
}

// check holds a value that was just read to the rules of its field.
func (r *Rules) check(value reflect.Value) error {
	if r.Enum != nil && !slices.Contains(r.Enum, value.String()) {
		return Faultf("%q is none of %s", value.String(), strings.Join(r.Enum, ", "))
	}
	if r.Min == nil && r.Max == nil {
		return nil
	}
	size, unit := measure(value)
	if r.Min != nil && size < *r.Min {
		return Faultf("%v%s, at least %v", size, unit, *r.Min)
	}
	if r.Max != nil && size > *r.Max {
		return Faultf("%v%s, at most %v", size, unit, *r.Max)
	}
	return nil
}

func measure(value reflect.Value) (size float64, unit string) {
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	switch {
	case value.CanInt():
		return float64(value.Int()), ""
	case value.CanUint():
		return float64(value.Uint()), ""
	case value.CanFloat():
		return value.Float(), ""
	case value.Kind() == reflect.String:
		return float64(utf8.RuneCountInString(value.String())), " characters"
	case value.Kind() == reflect.Slice || value.Kind() == reflect.Map:
		return float64(value.Len()), " items"
	default:
		return 0, ""
	}
}
