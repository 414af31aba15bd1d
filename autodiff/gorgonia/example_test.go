package gorgonia_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/autodiff"
	graphs "dyad/autodiff/gorgonia"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/metrics"
	"dyad/privacy"

	"gorgonia.org/gorgonia"
)

// A loss that exists as a Gorgonia graph is checked and becomes a loss over pairs with
// proved constants.
func ExampleFromGraph() {
	// The pseudo-Huber loss sqrt(1 + (1-u)^2) - 1.
	build := func(_ *gorgonia.ExprGraph, u *gorgonia.Node) *gorgonia.Node {
		one := gorgonia.NewConstant(1.0)
		square := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(one, u))))
		root := gorgonia.Must(gorgonia.Sqrt(gorgonia.Must(gorgonia.Add(one, square))))
		return gorgonia.Must(gorgonia.Sub(root, one))
	}
	f, err := graphs.FromGraph(build)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("phi(u) =", f.Phi)

	phi, err := engine.NewFunctionExpression("pseudo-huber", f, 0)
	if err != nil {
		log.Fatal(err)
	}
	// Constants runs the gate over every margin that can occur: gorgonia.Grad, our own
	// derivative and differences of phi agree there.
	c, err := engine.Score{Of: phi}.Constants(engine.UnitBounds(), 0.5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Lipschitz constant of a pair %.4f, convex %v\n", c.Lipschitz, c.Convex)

	// The gate sees a derivative that does not belong to phi.
	wrong := autodiff.Function{Phi: f.Phi, DPhi: autodiff.Neg(f.DPhi)}
	fmt.Println("wrong sign found:", errors.Is(wrong.Check(-2, 2), autodiff.ErrGradientsDisagree))
	// Output:
	// phi(u) = sqrt(1 + square(1 - u)) - 1
	// Lipschitz constant of a pair 3.7947, convex true
	// wrong sign found: true
}

// A network that exists as a Gorgonia graph is checked, and trained with a guarantee for every record on
// labels that no linear score explains: whether two features have the same sign.
func ExampleNewNetwork() {
	const n, d, hidden = 400, 2, 8
	net, err := graphs.NewNetwork(graphs.Network{
		Name: "sine features", In: d, Out: 1,
		Layers: []embedding.Layer{{Name: "frequencies", Rows: hidden, Cols: d, Radius: 20}, {Name: "output", Rows: 1, Cols: hidden, Radius: 4}},
		Build: func(_ *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
			waves := gorgonia.Must(gorgonia.Cos(gorgonia.Must(gorgonia.Mul(theta[0], x))))
			return gorgonia.Mul(theta[1], waves)
		},
		StartAt: func(seed uint64) []float64 {
			r, theta := rand.New(rand.NewPCG(seed, 1)), make([]float64, hidden*(d+1))
			for k := range hidden * d {
				theta[k] = 3 * r.NormFloat64()
			}
			return theta
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	x, y := make([]float64, 0, n*d), make([]float64, n)
	r := rand.New(rand.NewPCG(5, 5))
	for i := range y {
		a, b := r.Float64()-0.5, r.Float64()-0.5
		x = append(x, a, b)
		y[i] = math.Copysign(1, a*b)
	}
	records, err := engine.NewRecords(x, y, d, engine.UnitBounds())
	if err != nil {
		log.Fatal(err)
	}
	loss := embedding.Loss{Model: embedding.Model{Network: net, Output: embedding.Output{Within: 4}}, Pair: embedding.Score{Of: engine.Logistic{}}, Clip: 2}
	problem := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: loss.Radius()}
	spec, err := algorithms.NewSpec(embedding.Backend{}, problem, 0, privacy.Budget{Epsilon: 4, Delta: 1e-5}, algorithms.Certified)
	if err != nil {
		log.Fatal(err)
	}
	a := algorithms.GradientPerturbation{Steps: 30, StepSize: 0.2, Optimizer: algorithms.Optimizer{Update: "adam", Decay: "linear"}}
	plan, err := a.Plan(spec)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("a private run would be (%.2g, %.2g)-differentially private\n", plan.Guarantee.Epsilon, plan.Guarantee.Delta)
	// These records are public. Private ones need Options.Ledger and Options.DataID.
	result, err := algorithms.Run(context.Background(), records, a, plan, algorithms.Options{Public: true, Source: privacy.NewSeededSource(1)})
	if err != nil {
		log.Fatal(err)
	}
	scores := make([]float64, n)
	if err := loss.Model.Embed(scores, result.Weights, x, n); err != nil {
		log.Fatal(err)
	}
	auc, err := metrics.AUC(scores, y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("AUC above 0.85:", auc > 0.85, "- a linear score has about 0.5")
	// Output:
	// a private run would be (4, 1e-05)-differentially private
	// AUC above 0.85: true - a linear score has about 0.5
}
