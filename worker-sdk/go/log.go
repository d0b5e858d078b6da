package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"ganger.dev/worker/internal/wire"
)

// LogHandler forwards records of slog to the host's logger, those made with a call's context as that call's. A nil level
// is slog.LevelInfo. In a program that serves no pool it writes to stderr.
//
//	slog.SetDefault(slog.New(worker.LogHandler(nil)))
func LogHandler(level slog.Leveler) slog.Handler {
	if level == nil {
		level = slog.LevelInfo
	}
	return &logHandler{level: level}
}

// critical is the level from which on a record is one.
const critical = slog.LevelError + 4

type logHandler struct {
	level slog.Leveler
	// call is whose records these are, if that does not come with each record's context.
	call   *Call
	groups []string
	fields []field
}

// A field is an attribute and the groups that it was given in.
type field struct {
	groups    []string
	attribute slog.Attr
}

// Enabled is part of slog.Handler.
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs is part of slog.Handler.
func (h *logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	more := *h
	more.fields = slices.Clip(more.fields)
	for _, attribute := range attributes {
		more.fields = append(more.fields, field{h.groups, attribute})
	}
	return &more
}

// WithGroup is part of slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	more := *h
	more.groups = append(slices.Clip(more.groups), name)
	return &more
}

// Handle is part of slog.Handler.
func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	call := h.call
	if call == nil {
		call = From(ctx)
	}
	engine := call.engine
	if engine == nil {
		engine = current.Load()
	}
	fields := h.fields
	record.Attrs(func(attribute slog.Attr) bool {
		fields = append(slices.Clip(fields), field{h.groups, attribute})
		return true
	})
	if engine == nil {
		return handleAlone(ctx, record, collect(fields))
	}
	logger := "ganger"
	if call.function != "" {
		logger += "." + call.function
	}
	engine.log(call.numbers(), wire.LogBody(levelName(record.Level), clean(logger, maxMessage),
		clean(record.Message, maxMessage), collect(fields)))
	return nil
}

// handleAlone is for a program that serves no pool.
func handleAlone(ctx context.Context, record slog.Record, fields map[string]any) error {
	record = slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		record.Add(name, fields[name])
	}
	return slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}).Handle(ctx, record)
}

func levelName(level slog.Level) string {
	switch {
	case level >= critical:
		return "critical"
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warning"
	case level >= slog.LevelInfo:
		return "info"
	default:
		return "debug"
	}
}

// collect makes a map of fields, with a map in it for each group.
func collect(fields []field) map[string]any {
	all := map[string]any{}
	for _, field := range fields {
		put(all, field.groups, field.attribute)
	}
	return all
}

func put(into map[string]any, groups []string, attribute slog.Attr) {
	for _, group := range groups {
		inside, is := into[group].(map[string]any)
		if !is {
			inside = map[string]any{}
			into[group] = inside
		}
		into = inside
	}
	value := attribute.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if attribute.Key != "" {
			into[clean(attribute.Key, maxMessage)] = loggable(value)
		}
		return
	}
	for _, member := range value.Group() {
		if attribute.Key == "" {
			put(into, nil, member)
		} else {
			put(into, []string{clean(attribute.Key, maxMessage)}, member)
		}
	}
}

// loggable is a value that can be written, as text if it cannot be as it is.
func loggable(value slog.Value) any {
	switch content := value.Any().(type) {
	case string:
		return strings.ToValidUTF8(content, "\uFFFD")
	case time.Duration:
		return content.String()
	case error:
		return clean(safely(content.Error), maxMessage)
	default:
		if plain, _, fits := plainValue(content); fits {
			return plain
		}
		return clean(safely(func() string { return fmt.Sprint(content) }), maxMessage)
	}
}
