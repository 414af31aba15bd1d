package gorgonia_test

import (
	"errors"
	"fmt"
	"log"

	"dyad/autodiff"
	graphs "dyad/autodiff/gorgonia"
	"dyad/engine"

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
