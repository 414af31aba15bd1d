package own_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/objective"
	"dyad/privacy"
	"dyad/privacy/ledger"

	"example.org/own"
)

// records have two classes that differ in the direction of their first two features; the
// others are noise.
func records(n, d int, seed uint64) *engine.Records {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
		for k := range d {
			x[i*d+k] = 0.25 * rng.NormFloat64()
		}
		x[i*d] += 0.5
		x[i*d+1] += 0.5 * y[i]
	}
	r, err := engine.NewRecords(x, y, d, engine.UnitBounds())
	if err != nil {
		log.Fatal(err)
	}
	return r
}

func plan(n, d int) (own.NormalisedDescent, *algorithms.Plan) {
	spec, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: own.Cosine{}, Radius: 4}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
	if err != nil {
		log.Fatal(err)
	}
	a := own.NormalisedDescent{}
	p, err := a.Plan(spec)
	if err != nil {
		log.Fatal(err)
	}
	return a, p
}

// A loss and an algorithm of another module are planned, charged and trained like those of the
// catalogue.
func Example() {
	dir, err := os.MkdirTemp("", "own")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	book, err := ledger.Open(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	a, p := plan(600, 6)
	result, err := algorithms.Run(context.Background(), records(600, 6, 1), a, p, algorithms.Options{Ledger: book, DataID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: epsilon %.3g at delta %g for replacing one record, %d weights\n", p.Algorithm, result.Guarantee.Epsilon, result.Guarantee.Delta, len(result.Weights))
	// Output: normalised-descent: epsilon 1 at delta 1e-05 for replacing one record, 6 weights
}

// TestGradient: AddGrad is the gradient of Value, and with a large n training lowers the loss.
func TestGradient(t *testing.T) {
	r := records(50, 4, 2)
	w, l := []float64{0.5, -0.7, 1.1, 0.2}, own.Cosine{}
	x, xp := make([]float64, 4), make([]float64, 4)
	for i := range 49 {
		r.Row(i, x)
		r.Row(i+1, xp)
		z, zp := engine.Record{X: x, Y: r.Label(i)}, engine.Record{X: xp, Y: r.Label(i + 1)}
		g := make([]float64, 4)
		l.AddGrad(g, w, z, zp)
		for k := range w {
			const h = 1e-6
			v := w[k]
			w[k] = v + h
			up := l.Value(w, z, zp)
			w[k] = v - h
			down := l.Value(w, z, zp)
			w[k] = v
			if want := (up - down) / (2 * h); math.Abs(g[k]-want) > 1e-8 {
				t.Fatalf("coordinate %d: %v, want %v", k, g[k], want)
			}
		}
	}
}

// TestTraining: at a generous budget the loss falls.
func TestTraining(t *testing.T) {
	data := records(800, 6, 3)
	a, p := plan(800, 6)
	result, err := algorithms.Run(context.Background(), data, a, p, algorithms.Options{Public: true})
	if err != nil {
		t.Fatal(err)
	}
	start := make([]float64, 6)
	for k := range start {
		start[k] = 4 / (2 * math.Sqrt(6))
	}
	before, err := objective.Mean(context.Background(), own.Cosine{}, start, data)
	if err != nil {
		t.Fatal(err)
	}
	after, err := objective.Mean(context.Background(), own.Cosine{}, result.Weights, data)
	if err != nil {
		t.Fatal(err)
	}
	if !(after < before-0.01) {
		t.Errorf("the loss was %v and is %v", before, after)
	}
}
