package embedding

import (
	"errors"
	"math"

	"dyad/kernels"
)

// graphNetwork is a Graph as a Network. Its Jacobians are the Jacobians that the tape computes, entry by entry,
// so its guarantees need no knowledge of how the tape rounds. J^T v is computed from these Jacobians here.
type graphNetwork struct{ Graph }

// NewGraph returns the Network of a graph. No bound of the outputs of the graph is known, so a Model of this
// Network needs Output.Unit or Output.Within. The computation of a gradient computes the Jacobian of every record
// twice. If the Jacobians of a block of records do not fit into the reserved memory, it computes every Jacobian
// three times.
func NewGraph(g Graph) Network { return graphNetwork{g} }

// Reach returns +Inf because no bound is proved.
func (graphNetwork) Reach(float64) float64 { return math.Inf(1) }

// PullError implements Network. The products of entries of J_i and v_i are added one after another. For
// record i, the sums of the absolute products form a vector of norm at most ||J_i||_F ||v_i||.
func (g graphNetwork) PullError(float64) PullError {
	_, m := g.Dims()
	return PullError{Depth: BlockRows*m + 2, PerNorm: 1, Tiny: float64(Parameters(g)) * float64(BlockRows*m) * 0x1p-1000}
}

// NewPass implements Network.
func (g graphNetwork) NewPass(*kernels.Set) Pass {
	d, m := g.Dims()
	p := &graphPass{d: d, m: m, g: make([]float64, m), jac: make([]float64, m*Parameters(g))}
	tape, err := g.NewTape()
	switch blocks, ok := tape.(Blocks); {
	case err != nil:
		p.err = err
	case ok:
		p.blocks = blocks
	default:
		rows, size := max(1, min(BlockRows, maxPartials/len(p.jac))), len(p.jac)
		p.blocks = &oneByOne{Tape: tape, d: d, m: m, size: size, g: make([]float64, rows*m),
			jac: make([]float64, rows*size), found: make([]bool, rows)}
	}
	return p
}

// graphPass computes a Graph by its tape. A record for which the tape fails has values that are not finite.
type graphPass struct {
	blocks    Blocks
	err       error
	d, m      int
	g, jac, x []float64 // of one record, and of the last Embed
	from, to  int       // the rows of x that blocks holds
}

// Set implements Pass.
func (p *graphPass) Set(theta []float64) {
	if p.blocks != nil {
		p.err = p.blocks.Set(theta)
	}
}

// each calls visit for the records of x, with p.g and p.jac set unless the tape failed. Rows that are held in memory
// are not computed again.
func (p *graphPass) each(rows int, visit func(i int, failed bool)) {
	for i := range rows {
		if p.err == nil && (i < p.from || i >= p.to) {
			p.from, p.to = i, min(i+p.blocks.Rows(), rows)
			p.blocks.Block(p.x[i*p.d:p.to*p.d], p.to-i)
		}
		visit(i, p.err != nil || p.blocks.Row(p.g, p.jac, i-p.from) != nil)
	}
}

// Embed implements Pass. It adds the squares of the entries of a Jacobian one after
// another, in the order of the entries.
func (p *graphPass) Embed(g, norms, x []float64, rows int) {
	p.x, p.from, p.to = x, 0, 0
	p.each(rows, func(i int, failed bool) {
		if norms[i] = math.Inf(1); !failed {
			copy(g[i*p.m:], p.g)
			norms[i] = math.Sqrt(sumOfSquares(p.jac)) * roundings
		}
	})
}

// Pull implements Pass. The Jacobian that Pull multiplies by has the same bits as the Jacobian of Embed.
func (p *graphPass) Pull(grad, v []float64, rows int) {
	p.each(rows, func(i int, failed bool) {
		if failed {
			return
		}
		for k, c := range v[i*p.m:][:p.m] {
			for e, j := range p.jac[k*len(grad):][:len(grad)] {
				grad[e] += c * j
			}
		}
	})
}

// oneByOne makes Blocks of a Tape. It keeps the Jacobians of as many records as fit into maxPartials numbers.
type oneByOne struct {
	Tape
	d, m, size int
	g, jac     []float64 // of rows records
	found      []bool    // that the tape did not fail
}

var errTape = errors.New("embedding: the tape failed")

// Rows implements Blocks.
func (o *oneByOne) Rows() int { return len(o.found) }

// Block implements Blocks.
func (o *oneByOne) Block(x []float64, rows int) {
	for i := range rows {
		o.found[i] = o.Jacobian(o.g[i*o.m:][:o.m], o.jac[i*o.size:][:o.size], x[i*o.d:][:o.d]) == nil
	}
}

// Row implements Blocks.
func (o *oneByOne) Row(g, jac []float64, i int) error {
	if !o.found[i] {
		return errTape
	}
	copy(g, o.g[i*o.m:])
	copy(jac, o.jac[i*o.size:])
	return nil
}
