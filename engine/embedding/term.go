package embedding

import "dyad/kernels"

// TermPass computes what a term of up to BlockRows records is made of, and nothing else: their embeddings,
// and J_1^T v_1 + ... + J_k^T v_k, for terms that are clipped as a whole (engine/terms). Both are functions of
// these records and theta alone, bit for bit, by the promises of Network. It is used from one goroutine at a
// time.
type TermPass struct {
	pass  *modelPass
	norms []float64
	ones  []float64
}

// NewTermPass returns what computes the model; an error for one that cannot be trained. It takes the plain
// kernels, whose bits are the same on every machine.
func (m Model) NewTermPass() (*TermPass, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	set, err := kernels.Select(kernels.Generic)
	if err != nil {
		return nil, err
	}
	p := &TermPass{pass: m.newPass(set), norms: make([]float64, BlockRows), ones: make([]float64, BlockRows)}
	for i := range p.ones {
		p.ones[i] = 1
	}
	return p, nil
}

// NewGivenPass is NewTermPass for embeddings and norms that TermRows computed, of records of at most norm: Give takes them, Embed has the
// stage of the model alone, and Pull sets v to what TermRows.Add takes.
func (m Model) NewGivenPass(norm float64) *TermPass {
	p := &TermPass{pass: m.passOf(&given{reach: m.Network.Reach(norm)}), norms: make([]float64, BlockRows), ones: make([]float64, BlockRows)}
	for i := range p.ones {
		p.ones[i] = 1
	}
	return p
}

// Give gives the embeddings and norms of the records of the next Embed to a NewGivenPass.
func (p *TermPass) Give(g, norms []float64) {
	given := p.pass.Pass.(*given)
	given.g, given.norms = g, norms
}

// Set takes theta, which must not change until the next Set.
func (p *TermPass) Set(theta []float64) { p.pass.Set(theta) }

// Embed sets the rows of f (rows x m) to f_theta of the rows of x (rows x d). It returns false if a row or its
// Jacobian is not finite: the records then have no term, and f is undefined, as it may hold what is left of
// other records.
func (p *TermPass) Embed(f, x []float64, rows int) bool {
	p.pass.embed(f, p.norms, x, rows)
	m := p.pass.m
	for i, norm := range p.norms[:rows] {
		if !usable(f[i*m:][:m], norm) {
			return false
		}
	}
	return true
}

// Pull adds the sum of J_i^T v_i over the rows of the last Embed, whose x has not changed, to grad. It
// overwrites v (rows x m).
func (p *TermPass) Pull(grad, v []float64, rows int) { p.pass.pull(grad, v, p.ones, rows) }

// Project moves every layer of theta into its ball; a layer that is not finite becomes 0.
func (m Model) Project(theta []float64) { projectLayers(m.Network.Layers(), theta) }
