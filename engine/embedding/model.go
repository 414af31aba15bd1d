package embedding

import (
	"fmt"
	"math"

	"dyad/kernels"
)

// SmallestNorm is a constant whose square Output.Unit adds to the squared norm of g. It keeps the output
// differentiable and the norm of the Jacobian of the output stage below 2^8.
const SmallestNorm = 0x1p-8

// modelPass computes a Model at one theta, block by block, including the effect of the output stage on
// Jacobians. It is used from one goroutine at a time.
type modelPass struct {
	Pass
	output Output
	m      int
	raw    []float64 // BlockRows x m: g
	stage  []float64 // of the rows: what the stage divides g by
	norm   []float64 // ||g||
}

// newPass returns a modelPass that uses the kernels of set.
func (m Model) newPass(set *kernels.Set) *modelPass { return m.passOf(m.Network.NewPass(set)) }

// passOf returns a modelPass that computes the model by a pass of its network.
func (m Model) passOf(p Pass) *modelPass {
	_, dim := m.Network.Dims()
	return &modelPass{Pass: p, output: m.Output, m: dim, raw: make([]float64, BlockRows*dim),
		stage: make([]float64, BlockRows), norm: make([]float64, BlockRows)}
}

// plainPass returns a modelPass that uses the plain kernels, whose bits are the same on every machine. It
// returns an error if the model cannot be trained.
func (m Model) plainPass() (*modelPass, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	set, err := kernels.Select(kernels.Generic)
	if err != nil {
		return nil, err
	}
	return m.newPass(set), nil
}

// embed sets the rows of f to f_theta(x_i). It sets norms[i] to at least the Frobenius norm of the Jacobian of
// f_theta at x_i. norms[i] is +Inf or NaN if the network is not finite for row i or ||g|| overflows.
//
// The Jacobian of g/r, r = sqrt(||g||^2 + e^2), is (I - f f^T)/r times the Jacobian of g. The Jacobian of the
// projection of a g outside of the ball of radius B is (I - g g^T/||g||^2) B/||g|| times the Jacobian of g.
// Symmetric matrices with eigenvalues in [0, 1] do not raise a norm. So the norm grows at most by the factors
// 1/r and B/||g||.
func (p *modelPass) embed(f, norms, x []float64, rows int) {
	p.Embed(f, norms, x, rows)
	copy(p.raw, f[:rows*p.m])
	for i := range rows {
		g := f[i*p.m:][:p.m]
		norm := math.Sqrt(sumOfSquares(g))
		by := 1.0
		switch {
		case math.IsInf(norm, 1): // 0 = g/norm would pass for an embedding, and pull multiplies by g
			norms[i] = norm
		case p.output.Unit:
			by = math.Sqrt(norm*norm + SmallestNorm*SmallestNorm)
		case p.output.Within > 0 && norm > p.output.Within:
			by = norm / p.output.Within
		}
		if by != 1 {
			for k, v := range g {
				g[k] = v / by
			}
		}
		p.norm[i], p.stage[i] = norm, by
		norms[i] = norms[i] / by * roundings
	}
}

// pull replaces v_i by scale_i times the transpose of the stage's Jacobian times v_i. If scale is nil, scale_i is 1.
// Then pull adds J_i^T v_i for the new v_i to grad. The rows must be the rows of the last embed.
//
// The exact matrix is scale/by (I - g g^T/q), with q = by^2 for Unit and q = ||g||^2 outside of the ball, for
// the computed by, norm and g.
func (p *modelPass) pull(grad, v, scale []float64, rows int) {
	for i := range rows {
		to, by := v[i*p.m:][:p.m], p.stage[i]
		s := 1 / by
		if scale != nil {
			s = scale[i] / by
		}
		if p.output.Unit || by != 1 {
			g, q := p.raw[i*p.m:][:p.m], by*by
			if !p.output.Unit {
				q = p.norm[i] * p.norm[i]
			}
			dot := kernels.Dot(g, to) / q
			for k := range to {
				to[k] -= dot * g[k]
			}
		}
		for k := range to {
			to[k] *= s
		}
	}
	p.Pull(grad, v, rows)
}

// Embed sets row i of dst (rows x m) to f_theta of row i of x (rows x d), for any number of rows. The commands
// transform and predict use it. The bits of a row depend on this row of x and theta alone. A row for which the
// network is not finite becomes 0.
func (m Model) Embed(dst, theta, x []float64, rows int) error {
	p, err := m.plainPass()
	if err != nil {
		return err
	}
	d, dim := m.Dims()
	if len(theta) != Parameters(m.Network) || rows < 0 || len(x) < rows*d || len(dst) < rows*dim {
		return fmt.Errorf("embedding: Embed of %d rows: lengths %d, %d and %d of dst, theta and x for network %s with "+
			"%d parameters", rows, len(dst), len(theta), len(x), m.Network.Name(), Parameters(m.Network))
	}
	norms := make([]float64, BlockRows)
	p.Set(theta)
	for from := 0; from < rows; from += BlockRows {
		count := min(BlockRows, rows-from)
		f := dst[from*dim:][:count*dim]
		p.embed(f, norms, x[from*d:], count)
		for i := range count {
			if row := f[i*dim:][:dim]; !usable(row, norms[i]) {
				clear(row)
			}
		}
	}
	return nil
}

// usable reports whether an embedding and its Jacobian are finite.
func usable(f []float64, norm float64) bool {
	if !(norm <= math.MaxFloat64) {
		return false
	}
	for _, v := range f {
		if !(math.Abs(v) <= math.MaxFloat64) {
			return false
		}
	}
	return true
}
