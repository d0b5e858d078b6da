package worker_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

// ahead is a host that hands calls over ahead.
type ahead struct {
	*host
	tokens *os.File
}

func startAhead(t *testing.T) *ahead {
	t.Helper()
	const semaphore = 1
	flags := uintptr(semaphore | syscall.O_NONBLOCK | syscall.O_CLOEXEC)
	descriptor, _, failed := syscall.Syscall(syscall.SYS_EVENTFD2, 0, flags, 0)
	if failed != 0 {
		t.Fatal(failed)
	}
	tokens := os.NewFile(descriptor, "tokens")
	t.Cleanup(func() { _ = tokens.Close() })
	a := &ahead{launch(t, "functions", tokens), tokens}
	if hello := a.welcome(values{"concurrency": 1, "claims_fd": 5}); !hello.Ahead {
		t.Fatal("HELLO does not say that it can")
	}
	a.expect(wire.Ready, 0)
	a.kept = nil
	return a
}

// hand hands a call over ahead.
func (a *ahead) hand(function string, input any) uint64 {
	a.t.Helper()
	payload, err := messagepack.Append(nil, input)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.tokens.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		a.t.Fatal(err)
	}
	a.seq++
	a.send(a.data, wire.Frame{
		Kind: wire.Call, Flags: wire.Critical | wire.Ahead, Seq: a.seq, Payload: payload,
		Body: messagepack.AppendBody(nil, []any{function}),
	})
	return a.seq
}

// takeBack takes the last call back that was handed over.
func (a *ahead) takeBack() {
	a.t.Helper()
	var token [8]byte
	if _, err := syscall.Read(int(a.tokens.Fd()), token[:]); err != nil {
		a.t.Fatal("it was claimed")
	}
}

// left tells how many tokens there are, without taking one.
func (a *ahead) left() (count int) {
	a.t.Helper()
	told, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", a.tokens.Fd()))
	if err != nil {
		a.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(told), "eventfd-count:")
	if _, err := fmt.Sscanf(after, "%x", &count); err != nil {
		a.t.Fatal(err)
	}
	return count
}

// busy has the worker claim a call that runs until it is cancelled.
func (a *ahead) busy() uint64 {
	a.t.Helper()
	seq := a.hand("wait", a.mark("busy"))
	for begun := time.Now(); a.left() > 0; time.Sleep(time.Millisecond) {
		if time.Since(begun) > patience {
			a.t.Fatal("it is not claimed")
		}
	}
	return seq
}

// next is the answer to this call, and no other comes before.
func (a *ahead) next(seq uint64) wire.Frame {
	a.t.Helper()
	for {
		frame := a.host.next(a.data)
		if frame.Kind == wire.Result || frame.Kind == wire.Error {
			if frame.Seq != seq {
				a.t.Fatalf("the answer to %d, not to %d", frame.Seq, seq)
			}
			return frame
		}
	}
}

func (a *ahead) isCancelled(seq uint64) {
	a.t.Helper()
	if frame := a.next(seq); frame.Kind != wire.Error || a.reportIn(&frame).Code != wire.Cancelled {
		a.t.Fatalf("%v is no CANCELLED", frame)
	}
}

func (a *ahead) gives(seq uint64, expected string) {
	a.t.Helper()
	if frame := a.next(seq); frame.Kind != wire.Result || a.value(&frame) != expected {
		a.t.Fatalf("%v is not %q", frame, expected)
	}
}

func TestCallsHandedOverAheadAreAnsweredInOrder(t *testing.T) {
	a := startAhead(t)
	for _, function := range []string{"echo", "no_such_function"} {
		var calls []uint64
		for range 100 {
			calls = append(calls, a.hand(function, "x"))
		}
		for _, seq := range calls {
			a.next(seq)
		}
	}
	if left := a.left(); left != 0 {
		t.Errorf("%d tokens are left", left)
	}
}

func TestACallThatWasTakenBackNeverBegins(t *testing.T) {
	a := startAhead(t)
	first := a.busy()
	second := a.hand("echo", "second")
	a.hand("exit", 3)
	if left := a.left(); left != 2 {
		t.Fatalf("%d tokens are left", left)
	}
	a.takeBack()
	a.cancel(first, "cancel")
	a.isCancelled(first)
	a.gives(second, "second")
	// Nothing is before it, so it comes as calls usually do.
	a.gives(a.call("echo", "plain"), "plain")
	a.gives(a.hand("echo", "last"), "last")
}

func TestACancelIsRememberedUntilTheCallIsClaimed(t *testing.T) {
	a := startAhead(t)
	first := a.busy()
	second := a.hand("exit", 3)
	third := a.hand("echo", "third")
	taken := a.hand("exit", 3)
	a.cancel(second, "cancel")
	a.cancel(taken, "cancel")
	a.takeBack()
	a.cancel(first, "cancel")
	a.isCancelled(first)
	a.isCancelled(second)
	a.gives(third, "third")
	a.gives(a.call("echo", "plain"), "plain")
}

func TestAWorkerStopsThatHasCallsWhichNobodyWants(t *testing.T) {
	a := startAhead(t)
	first := a.busy()
	a.hand("exit", 3)
	a.hand("exit", 3)
	a.takeBack()
	a.takeBack()
	a.stop()
	a.cancel(first, "cancel")
	a.isCancelled(first)
	if code := a.exitCode(); code != 0 {
		t.Errorf("exit code %d; stderr: %s", code, a.stderr.String())
	}
}
