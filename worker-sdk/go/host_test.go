package worker_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

type values = map[string]any

// A host starts this program as a worker and speaks the protocol to it, frame by frame.
type host struct {
	t       *testing.T
	command *exec.Cmd
	stderr  bytes.Buffer
	data    *end
	control *end
	seq     uint64
	kept    []wire.Frame
}

// An end is the host's end of a lane.
type end struct {
	net.Conn
	reader *wire.Reader
	chunks wire.Chunks
}

// start starts a worker and shakes hands with it.
func start(t *testing.T, kind string, settings values) *host {
	t.Helper()
	h := launch(t, kind)
	h.welcome(settings)
	return h
}

// serving starts a worker and waits until it is ready.
func serving(t *testing.T, settings values) *host {
	t.Helper()
	h := start(t, "functions", settings)
	h.expect(wire.Ready, 0)
	h.kept = nil
	return h
}

func launch(t *testing.T, kind string, inherits ...*os.File) *host {
	t.Helper()
	data, theirData := pair(t)
	control, theirControl := pair(t)
	h := &host{t: t, command: program(kind), data: data, control: control}
	h.command.Env = append(h.command.Env, "GANGER_DATA_FD=3", "GANGER_CONTROL_FD=4")
	h.command.ExtraFiles = append([]*os.File{theirData, theirControl}, inherits...)
	h.begin()
	_, _ = theirData.Close(), theirControl.Close()
	return h
}

func program(kind string) *exec.Cmd {
	command := exec.Command(os.Args[0])
	// A race detector that is built in waits for a second before the process ends, unless told.
	command.Env = append(os.Environ(), asWorker+"="+kind, "GORACE=atexit_sleep_ms=0")
	return command
}

func (h *host) begin() {
	h.t.Helper()
	h.command.Stderr = &h.stderr
	if err := h.command.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = h.command.Process.Kill()
		_ = h.command.Wait()
		_, _ = h.data.Close(), h.control.Close()
		if strings.Contains(h.stderr.String(), "DATA RACE") {
			h.t.Error(h.stderr.String())
		}
	})
}

// pair is the host's end of a lane and the worker's.
func pair(t *testing.T) (*end, *os.File) {
	t.Helper()
	both, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(both[0])
	syscall.CloseOnExec(both[1])
	ours := os.NewFile(uintptr(both[0]), "host")
	connection, err := net.FileConn(ours)
	if err := errors.Join(err, ours.Close()); err != nil {
		t.Fatal(err)
	}
	return newEnd(connection), os.NewFile(uintptr(both[1]), "worker")
}

func newEnd(connection net.Conn) *end {
	_ = connection.SetDeadline(time.Now().Add(patience))
	return &end{Conn: connection, reader: wire.NewReader(connection)}
}

func (h *host) welcome(settings values) wire.HelloBody {
	h.t.Helper()
	var hello wire.HelloBody
	if err := messagepack.DecodeBody(h.expectOn(h.control, wire.Hello, 0).Body, &hello); err != nil {
		h.t.Fatal(err)
	}
	body := values{"version": wire.Version, "pool": "test", "worker": 3, "concurrency": 4, "device": "cuda:1"}
	for name, value := range settings {
		body[name] = value
	}
	h.send(h.control, wire.Frame{Kind: wire.Welcome, Flags: wire.Critical, Body: messagepack.AppendBody(nil, body)})
	return hello
}

func (h *host) send(lane *end, frame wire.Frame) {
	h.t.Helper()
	if _, err := lane.Write(append(frame.AppendHead(nil), frame.Payload...)); err != nil {
		h.t.Fatal(err)
	}
}

// next is the next whole frame of a lane.
func (h *host) next(lane *end) wire.Frame {
	h.t.Helper()
	for {
		frame, err := lane.reader.Next()
		if err != nil {
			h.t.Fatalf("%v; stderr: %s", err, h.stderr.String())
		}
		whole, err := lane.chunks.Take(frame, wire.DefaultMaxPayload)
		if err != nil {
			h.t.Fatal(err)
		}
		if whole != nil {
			return *whole
		}
	}
}

// expect is the next frame of data of a kind; others are kept.
func (h *host) expect(kind wire.Kind, seq uint64) wire.Frame {
	h.t.Helper()
	return h.expectOn(h.data, kind, seq)
}

func (h *host) expectOn(lane *end, kind wire.Kind, seq uint64) wire.Frame {
	h.t.Helper()
	for {
		frame := h.next(lane)
		if frame.Kind == kind && frame.Seq == seq {
			return frame
		}
		h.kept = append(h.kept, frame)
	}
}

// begin sends a call; fields are what CALL says after its function.
func (h *host) call(function string, input any, fields ...any) uint64 {
	h.t.Helper()
	payload, err := messagepack.Append(nil, input)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.callWith(wire.MessagePack, payload, function, fields...)
}

func (h *host) callWith(encoding wire.Encoding, payload []byte, function string, fields ...any) uint64 {
	h.t.Helper()
	h.seq++
	h.send(h.data, wire.Frame{
		Kind: wire.Call, Flags: wire.Critical | wire.Flags(encoding), Seq: h.seq, Payload: payload,
		Body: messagepack.AppendBody(nil, append([]any{function}, fields...)),
	})
	return h.seq
}

// answer is the frame that ends a call, which may have come already.
func (h *host) answer(seq uint64) wire.Frame {
	h.t.Helper()
	isAnswer := func(frame *wire.Frame) bool {
		return frame.Seq == seq && (frame.Kind == wire.Result || frame.Kind == wire.Error)
	}
	for index := range h.kept {
		if isAnswer(&h.kept[index]) {
			return h.kept[index]
		}
	}
	for {
		frame := h.next(h.data)
		if isAnswer(&frame) {
			return frame
		}
		h.kept = append(h.kept, frame)
	}
}

func (h *host) result(function string, input any, fields ...any) any {
	h.t.Helper()
	return h.resultOf(h.call(function, input, fields...))
}

func (h *host) resultOf(seq uint64) any {
	h.t.Helper()
	frame := h.answer(seq)
	if frame.Kind == wire.Error {
		h.t.Fatalf("failed: %+v", h.reportIn(&frame))
	}
	return h.value(&frame)
}

func (h *host) value(frame *wire.Frame) (value any) {
	h.t.Helper()
	if frame.Flags.Encoding() == wire.Raw {
		return frame.Payload
	}
	if err := messagepack.Decode(frame.Payload, &value); err != nil {
		h.t.Fatal(err)
	}
	return value
}

func (h *host) failure(function string, input any, fields ...any) *wire.Report {
	h.t.Helper()
	return h.failureOf(h.call(function, input, fields...))
}

func (h *host) failureOf(seq uint64) *wire.Report {
	h.t.Helper()
	frame := h.answer(seq)
	if frame.Kind != wire.Error {
		h.t.Fatalf("did not fail: %v", h.value(&frame))
	}
	return h.reportIn(&frame)
}

func (h *host) reportIn(frame *wire.Frame) *wire.Report {
	h.t.Helper()
	var report wire.Report
	if err := messagepack.DecodeBody(frame.Body, &report); err != nil {
		h.t.Fatal(err)
	}
	return &report
}

func (h *host) cancel(seq uint64, reason string) {
	h.t.Helper()
	h.send(h.control, wire.Frame{Kind: wire.Cancel, Seq: seq, Body: messagepack.AppendBody(nil, []any{reason})})
}

func (h *host) stop() {
	h.t.Helper()
	h.send(h.data, wire.Frame{Kind: wire.Stop, Flags: wire.Critical})
}

// exitCode waits until the worker has ended.
func (h *host) exitCode() int {
	h.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- h.command.Wait() }()
	select {
	case <-ended:
		return h.command.ProcessState.ExitCode()
	case <-time.After(patience):
		h.t.Fatal("the worker does not end")
		return 0
	}
}

// mark is a file that a function makes when it runs; appears waits for it.
func (h *host) mark(name string) string { return filepath.Join(h.t.TempDir(), name) }

func (h *host) appears(path string) {
	h.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	h.t.Fatalf("%s does not appear", path)
}

// logs are the LOG frames that were kept, each as level, logger, message and fields.
func (h *host) logs() (logs []string) {
	h.t.Helper()
	for index := range h.kept {
		if frame := &h.kept[index]; frame.Kind == wire.Log {
			var body []any
			if err := messagepack.DecodeBody(frame.Body, &body); err != nil {
				h.t.Fatal(err)
			}
			logs = append(logs, fmt.Sprint(append([]any{frame.Seq}, body...)))
		}
	}
	return logs
}
