package tensors_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/tensors"
	"dyad/privacy"
	"dyad/privacy/ledger"

	"gorgonia.org/tensor"
)

// Train a private model from data in tensors, and score them in tensors.
func Example() {
	const n, d = 400, 3
	x := tensor.New(tensor.WithShape(n, d), tensor.Of(tensor.Float64))
	y := tensor.New(tensor.WithShape(n), tensor.Of(tensor.Float64))
	for i := range n { // the label is the sign of the first feature
		label := float64(1 - i%2*2)
		y.Float64s()[i] = label
		copy(x.Float64s()[i*d:], []float64{0.7 * label, 0.3 * math.Sin(float64(i)), 0.3 * math.Cos(float64(2*i))})
	}
	records, err := tensors.ToRecords(x, y, engine.UnitBounds()) // rows of norm above 1 are projected
	if err != nil {
		log.Fatal(err)
	}

	spec, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1,
	}, 0.001, privacy.Budget{Epsilon: 2, Delta: 1e-5}, algorithms.Certified)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := algorithms.DPGDSC{}.Plan(spec)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "dyad")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ledger, err := ledger.Open(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	result, err := algorithms.Run(context.Background(), records, algorithms.DPGDSC{}, plan, algorithms.Options{Ledger: ledger, DataID: "tensors"})
	if err != nil {
		log.Fatal(err)
	}

	features, _ := tensors.FromRecords(records)
	weights := tensor.New(tensor.WithShape(d), tensor.WithBacking(result.Weights))
	scores, err := features.MatVecMul(weights)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("records", features.Shape(), "scores", scores.Shape())
	fmt.Printf("epsilon %.3f\n", plan.Guarantee.Epsilon)
	// Output:
	// records (400, 3) scores (400)
	// epsilon 2.000
}
