package algorithms_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Plan from public numbers, charge a ledger, train.
func ExampleRun() {
	const n, d = 500, 5
	budget := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	spec, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{},
		Radius: algorithms.DefaultRadius("dpgdsc", n, d, budget, algorithms.Certified, engine.Logistic{}),
	}, 0.001, budget, algorithms.Certified)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := algorithms.DPGDSC{}.Plan(spec)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("epsilon %.3f for %s\n", plan.Guarantee.Epsilon, plan.Guarantee.Unit)

	dir, err := os.MkdirTemp("", "dyad")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	book, err := ledger.Open(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	records := attack.RandomRecords(n, d, engine.UnitBounds(), 1)
	result, err := algorithms.Run(context.Background(), records, algorithms.DPGDSC{}, plan, algorithms.Options{Ledger: book, DataID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.Weights), "weights")
	// Output:
	// epsilon 1.000 for one record
	// 5 weights
}
