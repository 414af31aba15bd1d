package online_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dyad/algorithms"
	"dyad/algorithms/online"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// A stream of at most 100 records with 2 features, which releases a model after every 25 of them.
func Example() {
	dir, err := os.MkdirTemp("", "online")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	problem := engine.Problem{D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	spec, err := algorithms.NewStreamSpec(cpu.Backend{}, problem, algorithms.StreamOptions{Horizon: 100, Batch: 25, Buffer: 20}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-6}, algorithms.Certified)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := algorithms.OnPairC{}.Plan(spec)
	if err != nil {
		log.Fatal(err)
	}
	s, err := online.Open(plan, online.Options{
		State: filepath.Join(dir, "patients.state"), DataID: "patients",
		Ledger: func() (*ledger.Ledger, error) { return ledger.Open(filepath.Join(dir, "ledger.jsonl")) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for i := range 100 {
		y := float64(2*(i%2) - 1)
		release, err := s.Take(context.Background(), []float64{0.5 * y, 0.1}, y)
		if err != nil {
			log.Fatal(err)
		}
		if release != nil {
			fmt.Println("release", release.Number, "after", release.Records, "records:", len(release.Weights), "weights")
		}
	}
	if err := s.Stop(nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Guarantee().Kind)
	// Output:
	// release 1 after 50 records: 2 weights
	// release 2 after 75 records: 2 weights
	// release 3 after 100 records: 2 weights
	// (epsilon, delta)-DP
}
