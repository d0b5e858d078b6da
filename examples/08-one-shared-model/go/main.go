// A worker whose calls share one model: it is loaded once, however many of them run side by side.
package main

import (
	"context"
	"os"

	"ganger.dev/worker"
)

const (
	weights = 8 << 20 // 64 MiB of them.
	window  = 4096    // How many of them a call looks at: they fit into a core's own cache.
)

// model is only read once the worker has started: goroutines need no lock for that.
var model []uint64

type question struct {
	Seed  uint64 `json:"seed"`
	Steps uint64 `json:"steps"`
}

type answer struct {
	Answer uint64 `json:"answer"`
	Pid    int    `json:"pid"`
}

func predict(ctx context.Context, in question) (answer, error) {
	start := in.Seed % (weights / window) * window
	near := model[start : start+window]
	thought := in.Seed
	for step := range in.Steps {
		if step%65_536 == 0 && ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		thought = (thought ^ near[(thought>>40)%window]) * 0x9e37_79b9_7f4a_7c15
	}
	return answer{Answer: thought >> 11, Pid: os.Getpid()}, nil
}

func load(context.Context) error {
	model = make([]uint64, weights)
	weight := uint64(1)
	for index := range model {
		weight ^= weight << 13
		weight ^= weight >> 7
		weight ^= weight << 17
		model[index] = weight
	}
	return nil
}

func main() {
	worker.Run(
		worker.Startup(load),
		worker.Function("predict", predict, worker.Idempotent(true), worker.Summary("Thinks for so many steps.")),
	)
}
