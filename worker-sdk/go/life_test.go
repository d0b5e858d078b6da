package worker_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"ganger.dev/worker"
	"ganger.dev/worker/internal/messagepack"
	"ganger.dev/worker/internal/wire"
)

func TestHooksRunInOrderBeforeReadyAndAfterTheLastCall(t *testing.T) {
	h := start(t, "functions", nil)
	h.expect(wire.Ready, 0)
	started := h.mark("finishes")
	seq := h.call("wait", started)
	h.appears(started)
	h.stop()
	h.cancel(seq, "stop")
	equal(t, h.resultOf(seq), "the call was cancelled (stop)")
	equal(t, h.exitCode(), 0)
	for {
		frame, err := h.data.reader.Next()
		if err != nil {
			break
		}
		h.kept = append(h.kept, frame)
	}
	var said []string
	for _, text := range []string{"first", "second", "bye", "gone"} {
		said = append(said, "[0 info ganger "+text+" map[pool:test]]")
	}
	equal(t, h.logs(), said)
	if !strings.Contains(h.stderr.String(), "a shutdown hook failed: error: no way out") {
		t.Error(h.stderr.String())
	}
}

func TestAStartThatFailsIsToldWithItsError(t *testing.T) {
	for kind, want := range map[string]string{
		"failing start": "over quota", "panicking start": "no model", "two of a name": `two functions named "a"`,
		"unfit type": "a chan int cannot travel", "unfit tag": "a weight is between 1 and 100", "unfit batch": "a batch of 0 calls",
	} {
		t.Run(kind, func(t *testing.T) {
			h := start(t, kind, nil)
			frame := h.expect(wire.Error, 0)
			report := h.reportIn(&frame)
			if report.Code != wire.StartFailed || !strings.Contains(report.Message, want) {
				t.Errorf("%+v", report)
			}
			equal(t, h.exitCode(), 1)
		})
	}
}

func TestHelloSaysWhoItIs(t *testing.T) {
	h := launch(t, "functions")
	hello := h.welcome(nil)
	equal(t, hello.Language, "go")
	equal(t, int(hello.PID), h.command.Process.Pid)
}

func TestAVersionThatWasNotOffered(t *testing.T) {
	h := start(t, "functions", values{"version": 2})
	equal(t, h.exitCode(), wire.ViolationExit)
	equal(t, h.stderr.String(), "ganger-worker: protocol violation: version 2 was not offered\n")
}

func TestWithoutAHostItSaysSo(t *testing.T) {
	command := program("functions")
	output, _ := command.CombinedOutput()
	equal(t, command.ProcessState.ExitCode(), 64)
	if !strings.Contains(string(output), "GANGER_ENDPOINT") {
		t.Error(string(output))
	}
}

func TestCancelEndsACallThatLooksAtItsContext(t *testing.T) {
	h := serving(t, nil)
	started := h.mark("waits")
	seq := h.call("wait", started)
	h.appears(started)
	h.cancel(seq, "timeout")
	report := h.failureOf(seq)
	equal(t, report.Code, wire.Cancelled)
	equal(t, report.Message, "given up: the call was cancelled (timeout)")
}

func TestACancelThatOvertakesItsCall(t *testing.T) {
	h := serving(t, nil)
	// Whichever lane is read first: a call that has not come whole does not run.
	h.seq++
	h.cancel(h.seq, "cancel")
	whole := wire.Frame{
		Kind: wire.Call, Flags: wire.Critical, Seq: h.seq, Body: messagepack.AppendBody(nil, []any{"echo"}), Payload: []byte{1, 2},
	}
	if _, err := h.data.Write(append(whole.AppendPiece(nil, 0, 1), 1)); err != nil {
		t.Fatal(err)
	}
	equal(t, h.failureOf(h.seq).Code, wire.Cancelled)
	h.send(h.data, wire.Frame{Kind: wire.Chunk, Seq: h.seq, Payload: []byte{2}})
	equal(t, h.result("echo", 2), int64(2))
}

func TestTheWorkerEndsACallWhoseHostForgetsTo(t *testing.T) {
	h := serving(t, nil)
	report := h.failure("wait", h.mark("waits"), 1, 1)
	equal(t, report.Code, wire.CallFailed)
	equal(t, report.Message, "given up: the call was cancelled (timeout)")
}

func TestPing(t *testing.T) {
	h := serving(t, nil)
	h.seq++
	h.send(h.data, wire.Frame{Kind: wire.Ping, Seq: h.seq})
	h.expect(wire.Pong, h.seq)
}

func TestAStopBeforeReadyEndsTheWorkerOnceItIs(t *testing.T) {
	h := launch(t, "functions")
	h.welcome(nil)
	h.stop()
	h.expect(wire.Ready, 0)
	equal(t, h.exitCode(), 0)
}

func TestTheWorkerEndsAtOnceWhenALaneEnds(t *testing.T) {
	for name, lane := range map[string]func(*host) *end{
		"data": func(h *host) *end { return h.data }, "control": func(h *host) *end { return h.control },
	} {
		t.Run(name, func(t *testing.T) {
			h := serving(t, nil)
			started := h.mark("busy")
			h.call("busy", started)
			h.appears(started)
			_ = lane(h).Close()
			equal(t, h.exitCode(), 0)
		})
		t.Run(name+" while it starts", func(t *testing.T) {
			h := start(t, "slow start", nil)
			_ = lane(h).Close()
			equal(t, h.exitCode(), 0)
		})
		t.Run(name+" before it is greeted", func(t *testing.T) {
			h := launch(t, "functions")
			_ = lane(h).Close()
			equal(t, h.exitCode(), 0)
		})
	}
}

func TestAViolationEndsTheWorkerWithOneLine(t *testing.T) {
	for what, frame := range map[string]wire.Frame{
		"seq 0 after 0": {Kind: wire.Ping}, "a RESULT frame": {Kind: wire.Result, Seq: 1},
		"the body of a CALL": {Kind: wire.Call, Seq: 1, Body: []byte{1}},
		"unknown kind":       {Kind: 200, Flags: wire.Critical},
	} {
		t.Run(what, func(t *testing.T) {
			h := serving(t, nil)
			h.send(h.data, frame)
			equal(t, h.exitCode(), wire.ViolationExit)
			said := h.stderr.String()
			if !strings.Contains(said, what) || strings.Count(said, "\n") != 1 {
				t.Error(said)
			}
		})
	}
}

func TestAFunctionMayEndTheProcess(t *testing.T) {
	h := serving(t, nil)
	h.call("exit", 7)
	equal(t, h.exitCode(), 7)
}

func TestChildrenHaveNeitherLanesNorTheirNames(t *testing.T) {
	h := serving(t, nil)
	// This process's own children have what theirs may have.
	want, err := environment(t.Context(), worker.None{})
	if err != nil {
		t.Skip(err)
	}
	equal(t, h.result("environment", nil), want)
}

func TestAttachedByHand(t *testing.T) {
	address := filepath.Join(t.TempDir(), "endpoint")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	h := &host{t: t, command: program("functions"), data: &end{}, control: &end{}}
	h.command.Env = append(h.command.Env, "GANGER_ENDPOINT="+address, "GANGER_TOKEN=secret")
	h.command.Stderr = &h.stderr
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	sessions := map[string]bool{}
	for range 2 {
		connection, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		lane := newEnd(connection)
		var attach wire.AttachBody
		if err := messagepack.DecodeBody(h.expectOn(lane, wire.Attach, 0).Body, &attach); err != nil {
			t.Fatal(err)
		}
		equal(t, attach.Token, "secret")
		sessions[attach.Session] = true
		if attach.Lane == "data" {
			h.data = lane
		} else {
			h.control = lane
		}
	}
	equal(t, len(sessions), 1)
	equal(t, h.welcome(nil).SharedMemory, false)
	h.expect(wire.Ready, 0)
	equal(t, h.result("echo", 1), int64(1))
	h.stop()
	equal(t, h.exitCode(), 0)
}

func TestAttachingThatIsRefusedSaysSo(t *testing.T) {
	address := filepath.Join(t.TempDir(), "endpoint")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	h := &host{t: t, command: program("functions")}
	h.command.Env = append(h.command.Env, "GANGER_ENDPOINT="+address, "GANGER_TOKEN=wrong")
	h.command.Stderr = &h.stderr
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		connection, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		h.expectOn(newEnd(connection), wire.Attach, 0)
		connection.Close()
	}
	equal(t, h.exitCode(), 1)
	equal(t, strings.Contains(h.stderr.String(), "is the token right?"), true)
}
