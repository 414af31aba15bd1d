package embedding

import "dyad/kernels"

// TermPass computes terms. A term has up to BlockRows records and is clipped as a whole. For the records of a
// term, TermPass computes the embeddings and J_1^T v_1 + ... + J_k^T v_k. By the promises of Network, the
// embeddings and this sum are functions of these records and theta alone, bit for bit. A TermPass is used from
// one goroutine at a time.
type TermPass struct {
	pass  *modelPass
	norms []float64
}

// NewTermPass returns a TermPass for the model, or an error if the model cannot be trained. The pass uses the
// plain kernels, whose bits are the same on every machine.
func (m Model) NewTermPass() (*TermPass, error) {
	pass, err := m.plainPass()
	return &TermPass{pass: pass, norms: make([]float64, BlockRows)}, err
}

// NewGivenPass returns a TermPass for embeddings and norms that TermRows computed. norm bounds the norm of a
// record. The caller passes the embeddings and norms to Give. Then Embed applies only the output stage of the
// model, and Pull sets v to the input of TermRows.Add.
func (m Model) NewGivenPass(norm float64) *TermPass {
	return &TermPass{pass: m.passOf(&given{reach: m.Network.Reach(norm)}), norms: make([]float64, BlockRows)}
}

// Give sets the embeddings and norms of the records of the next Embed. It works only for a pass returned by
// NewGivenPass.
func (p *TermPass) Give(g, norms []float64) {
	given := p.pass.Pass.(*given)
	given.g, given.norms = g, norms
}

// Set takes theta, which must not change until the next Set.
func (p *TermPass) Set(theta []float64) { p.pass.Set(theta) }

// Embed sets the rows of f (rows x m) to f_theta of the rows of x (rows x d). It returns false if a row or its
// Jacobian is not finite. The term of the records then counts as 0, and f is undefined: f may hold values of
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

// Pull adds the sum of J_i^T v_i over the rows of the last Embed to grad. The x of this Embed must not have
// changed. Pull overwrites v (rows x m).
func (p *TermPass) Pull(grad, v []float64, rows int) { p.pass.pull(grad, v, nil, rows) }

// Project moves every layer of theta into its ball. A layer that is not finite becomes 0.
func (m Model) Project(theta []float64) { projectLayers(m.Network.Layers(), theta) }

// termMap maps the individuals of one term by a matrix or a network. The image of an individual is a function of its
// record and the weights alone, bit for bit.
type termMap interface {
	set(weights []float64)
	// embed sets the rows of z to the images. It returns false if an image is not finite; the term is then 0.
	embed(z []float64, term []int32) bool
	// pull adds the sum of J_i^T g_i over the rows of g to gradient, for the individuals of the last embed. It
	// overwrites g.
	pull(gradient, g []float64, term []int32)
}

// linearMap is the map W x, a network without hidden layers. It is computed by kernels that gather records.
type linearMap struct {
	data   *Data
	w      []float64 // rows x Dim
	column []float64 // of the images of a term
}

func (l *linearMap) set(w []float64) { l.w = w }

func (l *linearMap) embed(z []float64, term []int32) bool {
	d, k := l.data.d, len(term)
	rows := len(z) / k
	for r := range rows {
		kernels.GatherDots(l.column, l.data.x, l.w[r*d:(r+1)*d], term)
		for i, v := range l.column {
			z[i*rows+r] = v
		}
	}
	return true
}

func (l *linearMap) pull(gradient, g []float64, term []int32) {
	d, k := l.data.d, len(term)
	rows := len(g) / k
	for r := range rows {
		for i := range l.column {
			l.column[i] = g[i*rows+r]
		}
		kernels.GatherAddRows(gradient[r*d:(r+1)*d], l.column, l.data.x, term)
	}
}

// networkMap is f_theta(x).
type networkMap struct {
	data *Data
	pass *TermPass
	x    []float64 // the records of a term
}

func (n *networkMap) set(theta []float64) { n.pass.Set(theta) }

func (n *networkMap) embed(z []float64, term []int32) bool {
	for i, v := range term {
		copy(n.x[i*n.data.d:], n.data.Row(int(v)))
	}
	return n.pass.Embed(z, n.x, len(term))
}

func (n *networkMap) pull(gradient, g []float64, term []int32) { n.pass.Pull(gradient, g, len(term)) }
