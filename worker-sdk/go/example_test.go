package worker_test

import (
	"context"
	"log/slog"

	"ganger.dev/worker"
)

// Price is what Example's function takes.
type Price struct {
	Amount   float64 `json:"amount" ganger:"min=0"`
	Currency string  `json:"currency" ganger:"enum=EUR|USD,default=EUR"`
}

func Example() {
	rates := map[string]float64{}
	load := func(context.Context) error {
		slog.SetDefault(slog.New(worker.LogHandler(nil)))
		rates["EUR"], rates["USD"] = 1, 1.1
		return nil
	}
	convert := func(ctx context.Context, price Price) (float64, error) {
		slog.InfoContext(ctx, "converting", "currency", price.Currency)
		return price.Amount * rates[price.Currency], nil
	}
	countdown := func(_ context.Context, from int, out *worker.Stream[int]) error {
		for ; from > 0; from-- {
			if err := out.Send(from); err != nil {
				return err
			}
		}
		return nil
	}
	worker.Run(
		worker.Startup(load),
		worker.Function("convert", convert, worker.Idempotent(true), worker.Summary("Converts a price")),
		worker.StreamFunction("countdown", countdown),
	)
}
