package algorithms

import (
	"math"
)

// hiddenState is one update u -> Q[w - eta (sum/pairs + alpha w)] with w = Pi_C u, without the rounding Q.
type hiddenState struct {
	update
	dim          int
	room         float64 // project clips the coordinates of u to [-room, room]
	meanRoundoff float64
}

// newHiddenState returns the update of a plan's objective. Its room exceeds the reach of a step by 64 standard
// deviations of the noise, so that clipping to it has no effect in practice.
func (s Spec) newHiddenState(eta, grid float64) hiddenState {
	problem := s.Kernel.Problem()
	mean := meanRoundoff(s.Kernel, problem.Pairs())
	u := s.newUpdate(mean)
	return hiddenState{update: u, dim: problem.Loss.ParamDim(problem.D), room: u.reach(eta) + 64*0x1p29*grid,
		meanRoundoff: mean}
}

// project replaces u by its projection onto the cube |u_k| <= room and then onto C. Both projections are onto
// convex sets, and C is in the cube. So neither projection expands distances, and the first one is exact.
func (h hiddenState) project(u []float64) error {
	for k, v := range u {
		u[k] = max(-h.room, min(v, h.room))
	}
	return h.domain.Project(u, h.norm(len(u)))
}

func (h hiddenState) norm(coordinates int) float64 {
	return h.room * math.Sqrt(float64(coordinates)) * (1 + 0x1p-40)
}

// step replaces w in C by w - eta (sum/pairs + alpha w).
func (h hiddenState) step(w, sum []float64, eta, pairs float64) {
	inverse := 1 / pairs
	for k := range w {
		w[k] -= eta * (sum[k]*inverse + h.alpha*w[k])
	}
}

// roundoff bounds, for every data set and every state, the distance between the results of the computed and the
// exact project and step.
//
// Proof. The computed projection is in C and within ProjectError of the exact projection. An exact step does
// not expand this distance. The computed step differs from an exact step from the same point by the bound of
// update.roundoff without its projection, plus eta times the error of the mean gradient. QED
func (h hiddenState) roundoff(eta float64) float64 {
	projection := h.domain.ProjectError(h.norm(h.dim))
	return (projection + 7*0x1p-53*h.reach(eta) + eta*h.meanRoundoff) * (1 + 0x1p-40)
}
