package embedding

import (
	"math"

	"dyad/kernels"
)

// graphNetwork is a Graph as a Network. Its Jacobians are those that the tape computes, entry by entry, so
// that nothing needs to be known of how the tape rounds; J^T v is computed from them here.
type graphNetwork struct{ Graph }

// NewGraph returns the Network of a graph. Nothing is known of its range, so the Model needs Output.Unit
// or Output.Within. An embedding takes one Jacobian of the tape, of m times Parameters numbers, and a gradient two for every
// record, three if the Jacobians of a block have more than maxPartials numbers: a pass then holds only one of them.
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
	p := &graphPass{d: d, m: m, g: make([]float64, m), size: m * Parameters(g), kept: 1}
	if p.size <= maxPartials/BlockRows {
		p.kept = BlockRows
	}
	p.jac, p.found = make([]float64, p.kept*p.size), make([]bool, p.kept)
	p.tape, p.err = g.NewTape()
	return p
}

// graphPass computes a Graph by its tape. A record for which the tape fails has values that are not finite.
type graphPass struct {
	tape  Tape
	err   error
	d, m  int
	g, x  []float64 // x is of the last Embed
	size  int       // of a Jacobian
	kept  int       // how many there is space for: those of a block, or one
	jac   []float64
	found []bool // that the tape did not fail
}

// Set implements Pass.
func (p *graphPass) Set(theta []float64) {
	if p.tape != nil {
		p.err = p.tape.Set(theta)
	}
}

// at computes record i of x, and returns its Jacobian, nil if the tape fails.
func (p *graphPass) at(i int) []float64 {
	k := i % p.kept
	jac := p.jac[k*p.size:][:p.size]
	if p.found[k] = p.err == nil && p.tape.Jacobian(p.g, jac, p.x[i*p.d:][:p.d]) == nil; p.found[k] {
		return jac
	}
	return nil
}

// Embed implements Pass. The sum of squares of the Jacobian is taken in plain order.
func (p *graphPass) Embed(g, norms, x []float64, rows int) {
	p.x = x
	for i := range rows {
		jac := p.at(i)
		if jac == nil {
			norms[i] = math.Inf(1)
			continue
		}
		copy(g[i*p.m:], p.g)
		norms[i] = math.Sqrt(sumOfSquares(jac)) * roundings
	}
}

// Pull implements Pass. The Jacobian that it multiplies by is that of Embed, or has its bits.
func (p *graphPass) Pull(grad, v []float64, rows int) {
	for i := range rows {
		if p.kept == 1 {
			p.at(i)
		}
		if !p.found[i%p.kept] {
			continue
		}
		jac := p.jac[i%p.kept*p.size:][:p.size]
		for k, c := range v[i*p.m:][:p.m] {
			for e, j := range jac[k*len(grad):][:len(grad)] {
				grad[e] += c * j
			}
		}
	}
}
