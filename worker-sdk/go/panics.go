package worker

import (
	"fmt"
	"runtime"
	"strings"

	"ganger.dev/worker/internal/wire"
)

const maxFrames = 256

// panicReport reports what a function panicked with; it must be called while the panic is under way. A function that
// ended its goroutine instead, as a failing test does, has no value.
func panicReport(value any) *wire.Report {
	var report *wire.Report
	switch value := value.(type) {
	case nil:
		return wire.NewReport(wire.CallFailed, "the function ended its goroutine without returning")
	case error:
		report = reportOf(value)
	default:
		message := safely(func() string { return fmt.Sprint(value) })
		report = wire.NewReport(wire.CallFailed, clean(message, maxMessage))
		report.Type = "panic"
	}
	traceback := clean("panic: "+report.Message+"\n\n"+stack(), maxTraceback)
	report.Traceback = &traceback
	return report
}

// stack is the user's part of the panicking goroutine's stack, in the form of Go's own.
func stack() string {
	counters := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters)])
	var text strings.Builder
	panicked := false
	for {
		frame, more := frames.Next()
		switch name := frame.Function; {
		case name == "runtime.gopanic":
			panicked = true
		case !panicked, strings.HasPrefix(name, "runtime."), strings.HasPrefix(name, "ganger.dev/worker."):
		default:
			fmt.Fprintf(&text, "%s(...)\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return text.String()
		}
	}
}
