package embedding_test

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/engine/embedding"
)

// A ranking network with one hidden layer: constants of the certificate, and one gradient over all pairs.
func Example() {
	net, err := embedding.NewMLP(embedding.MLP{In: 2, Hidden: []int{8}, Out: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	loss := embedding.Loss{
		Model: embedding.Model{Network: net},
		Pair:  embedding.Score{Of: engine.Logistic{}},
		Clip:  1, // of every record's Jacobian
		Seed:  1, // of the public start
	}
	bounds := engine.UnitBounds()
	c, err := loss.Constants(bounds, loss.Radius())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d parameters, Dg = %.3f, %v\n", loss.Name(), loss.ParamDim(2), c.PairDiameter, c.Origin)

	// Four records whose class is the sign of a product.
	records, err := engine.NewRecords([]float64{.7, .7, -.7, -.7, .7, -.7, -.7, .7}, []float64{1, 1, -1, -1}, 2, bounds)
	if err != nil {
		fmt.Println(err)
		return
	}
	problem := engine.Problem{N: 4, D: 2, Bounds: bounds, Loss: loss, Radius: loss.Radius()}
	kernel, err := embedding.Backend{}.Plan(problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	evaluator, err := kernel.Bind(records)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer evaluator.Close()
	theta, gradient := problem.Domain().Start(), make([]float64, loss.ParamDim(2))
	if err := evaluator.Sum(context.Background(), gradient, engine.Gradient(theta, problem.Pairs())); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(kernel.Method())
	// Output:
	// score-logistic of mlp 2-8-1 tanh: 32 parameters, Dg = 4.000, enforced by clipping Jacobians of records or gradients of pairs
	// direct sums of scores, one backward pass per record
}
