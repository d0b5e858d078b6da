package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ganger.dev/worker"
)

// longWait is how long no call waits: a scenario fills each of its batches.
const longWait = time.Minute

type half struct {
	Half int `json:"half"`
	Of   int `json:"of"`
}

// batches are the functions that take the inputs of several calls at once.
func batches() []worker.Part {
	return []worker.Part{
		worker.BatchFunction("halves", 3, longWait, halves),
		worker.BatchFunction("too_few", 2, longWait, func(_ context.Context, numbers []int) ([]int, error) {
			return numbers[1:], nil
		}),
		worker.BatchFunction("nap_together", 2, longWait, napTogether),
	}
}

func halves(_ context.Context, numbers []int) ([]half, error) {
	found, failures := make([]half, len(numbers)), worker.Failures{}
	for place, number := range numbers {
		found[place] = half{number / 2, len(numbers)}
		if number%2 != 0 {
			failures[place] = fmt.Errorf("%d is odd", number)
		}
	}
	return found, failures
}

func napTogether(ctx context.Context, seconds []float64) ([]string, error) {
	napped, err := nap(ctx, slices.Max(seconds))
	return slices.Repeat([]string{napped}, len(seconds)), err
}
