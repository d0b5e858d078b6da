// Package worker makes a program a worker of a Ganger pool: its functions are called by an app in Node.js or Python,
// supervised and side by side.
//
//	type Price struct {
//		Amount   float64 `json:"amount" ganger:"min=0"`
//		Currency string  `json:"currency" ganger:"enum=EUR|USD,default=EUR"`
//	}
//
//	func convert(ctx context.Context, price Price) (float64, error) {
//		return price.Amount * rates[price.Currency], nil
//	}
//
//	func main() {
//		worker.Run(
//			worker.Startup(loadRates),
//			worker.Function("convert", convert, worker.Idempotent(true), worker.Summary("Converts a price")),
//		)
//	}
//
// Each call runs on a goroutine of its own, as many at once as the pool's concurrency says. Its context is cancelled
// when the caller gives the call up. A BatchFunction takes the inputs of several calls at once. An error that a function returns, or a panic, fails its call and not the worker.
package worker
