// Package notation reads the protocol's vectors and transcripts, which are data for the tests of every SDK.
package notation

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Folder is where the protocol's data lies.
func Folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "protocol")
}

// Load reads a file of the protocol's folder; numbers stay as they are written.
func Load(name string, into any) error {
	text, err := os.ReadFile(filepath.Join(Folder(), name))
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// Value is the Go value that a notation means, as the codec gives it.
func Value(notation any) any {
	switch notation := notation.(type) {
	case json.Number:
		return integer(notation.String())
	case []any:
		list := make([]any, 0, len(notation))
		for _, item := range notation {
			list = append(list, Value(item))
		}
		return list
	case map[string]any:
		if len(notation) == 1 {
			for name, content := range notation {
				if value, special := special(name, content); special {
					return value
				}
			}
		}
		entries := make(map[string]any, len(notation))
		for name, item := range notation {
			entries[name] = Value(item)
		}
		return entries
	default:
		return notation
	}
}

// Hex are the bytes that a text of hexadecimal digits means.
func Hex(text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return bytes
}

func special(name string, content any) (value any, special bool) {
	switch name {
	case "$int":
		return integer(content.(string)), true
	case "$float":
		return float(content.(string)), true
	case "$bytes":
		return Hex(content.(string)), true
	case "$timestamp":
		parts := Value(content).([]any)
		return time.Unix(parts[0].(int64), parts[1].(int64)).UTC(), true
	default:
		return nil, false
	}
}

func integer(text string) any {
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value
	}
	if value, err := strconv.ParseUint(text, 10, 64); err == nil {
		return value
	}
	return float(text)
}

func float(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return value
}
