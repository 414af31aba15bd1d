package embedding

import (
	"math"

	"dyad/engine"
)

// layerBalls is the product of the balls of the layers of a network.
type layerBalls struct {
	layers []Layer
	start  func() []float64
}

var _ engine.Domain = layerBalls{}

// domainOf is the set of parameters of a loss.
func domainOf(l Loss) layerBalls {
	n := l.Model.Network
	return layerBalls{n.Layers(), func() []float64 {
		if l.Start != nil {
			theta := append([]float64(nil), l.Start...)
			projectLayers(n.Layers(), theta)
			return theta
		}
		return n.Start(l.Seed)
	}}
}

// projectLayers projects every layer to its ball.
func projectLayers(layers []Layer, theta []float64) {
	for _, l := range layers {
		engine.ProjectBall(theta[:l.Len()], l.Radius)
		theta = theta[l.Len():]
	}
}

// radius bounds the norm of a member, rounded up.
func (b layerBalls) radius() float64 {
	var sum float64
	for _, l := range b.layers {
		sum += l.Radius * l.Radius
	}
	return math.Sqrt(sum) * (1 + 0x1p-40)
}

// Text describes the set.
func (layerBalls) Text() string { return "every layer within its ball" }

// Diameter is twice the radius.
func (b layerBalls) Diameter() float64 { return 2 * b.radius() }

// Start is the public start.
func (b layerBalls) Start() []float64 { return b.start() }

// StartNorm is the radius.
func (b layerBalls) StartNorm() float64 { return b.radius() }

// Project projects every layer to its ball. A layer that is not finite becomes 0. Project never fails.
func (b layerBalls) Project(w []float64, _ float64) error {
	projectLayers(b.layers, w)
	return nil
}

// ProjectError returns the sum of the error bounds of the projections to the balls.
func (b layerBalls) ProjectError(float64) float64 {
	var sum float64
	for _, l := range b.layers {
		sum += engine.ProjectBallError(l.Len(), l.Radius)
	}
	return sum
}
