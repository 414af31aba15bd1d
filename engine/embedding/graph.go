package embedding

import (
	"math"

	"dyad/kernels"
)

// graphNetwork is a Graph as a Network. Its Jacobians are those that the tape computes, entry by entry, so
// that nothing needs to be known of how the tape rounds; J^T v is computed from them here.
type graphNetwork struct{ Graph }

// NewGraph returns the Network of a graph. Nothing is known of its range, so the Model needs Output.Unit
// or Output.Within. An embedding takes one Jacobian of the tape, and a gradient three for every record. A
// pass holds one of them, m times Parameters numbers.
func NewGraph(g Graph) Network { return graphNetwork{g} }

// Reach is +Inf: nothing is proved.
func (graphNetwork) Reach(float64) float64 { return math.Inf(1) }

// PullError implements Network: the products of entries of J_i and v_i have absolute values that form a
// vector of norm at most ||J_i||_F ||v_i||, and are added one after the other.
func (g graphNetwork) PullError(float64) PullError {
	_, m := g.Dims()
	return PullError{Depth: BlockRows*m + 2, PerNorm: 1, Tiny: float64(Parameters(g)) * float64(BlockRows*m) * 0x1p-1000}
}

// NewPass implements Network.
func (g graphNetwork) NewPass(*kernels.Set) Pass {
	d, m := g.Dims()
	p := &graphPass{d: d, m: m, g: make([]float64, m), jac: make([]float64, m*Parameters(g))}
	p.tape, p.err = g.NewTape()
	return p
}

// graphPass computes a Graph by its tape. A record for which the tape fails has values that are not finite.
type graphPass struct {
	tape   Tape
	err    error
	d, m   int
	g, jac []float64
	x      []float64 // of the last Embed
}

// Set implements Pass.
func (p *graphPass) Set(theta []float64) {
	if p.tape != nil {
		p.err = p.tape.Set(theta)
	}
}

// at computes the record x.
func (p *graphPass) at(x []float64) bool {
	return p.err == nil && p.tape.Jacobian(p.g, p.jac, x) == nil
}

// Embed implements Pass. The sum of squares of the Jacobian is taken in plain order.
func (p *graphPass) Embed(g, norms, x []float64, rows int) {
	p.x = x
	for i := range rows {
		if !p.at(x[i*p.d:][:p.d]) {
			norms[i] = math.Inf(1)
			continue
		}
		copy(g[i*p.m:], p.g)
		norms[i] = math.Sqrt(sumOfSquares(p.jac)) * roundings
	}
}

// Pull implements Pass.
func (p *graphPass) Pull(grad, v []float64, rows int) {
	for i := range rows {
		if !p.at(p.x[i*p.d:][:p.d]) {
			continue
		}
		for k, c := range v[i*p.m:][:p.m] {
			for e, j := range p.jac[k*len(grad):][:len(grad)] {
				grad[e] += c * j
			}
		}
	}
}
