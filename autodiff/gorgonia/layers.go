package gorgonia

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"

	"dyad/autodiff"
	"dyad/engine/embedding"
	"dyad/engine/layers"
)

// NewLayers returns the network that spec describes, for records with d features and an output of m
// numbers. One Gorgonia graph, on values of gorgonia.org/tensor, computes a batch of records, and
// gorgonia.Grad differentiates it.
//
// A derivative with respect to theta would be a sum over the batch, but every record's own Jacobian must be
// clipped. So Grad differentiates with respect to the output z = W x + b of each matrix for each row. Records
// share only theta. So the derivative dz of the batch's sum for a row depends on no other record. The
// record's Jacobian is the sum over its rows of the products of dz and (x, 1).
//
// NewLayers makes three comparisons. It compares values with the values of layers.Network, which is plain
// Go. It compares Jacobians with difference quotients of these values. It compares the bits of the results of a
// record alone with the bits of its results in a batch with other records. After a failed comparison the
// error wraps autodiff.ErrGradientsDisagree or ErrNotAFunction.
func NewLayers(spec layers.Spec, d, m int) (embedding.Network, error) {
	net, err := spec.Network(d, m)
	if err != nil {
		return nil, err
	}
	g := layersGraph{Network: net, counts: rowsOf(net.Steps())}
	values := d
	for i, l := range net.Layers() {
		values += g.counts[i] * (l.Cols + (1+m)*l.Rows)
	}
	g.batch = max(2, min(embedding.BlockRows, maxBatch/values))
	return embedding.NewGraph(g), g.check()
}

// maxBatch is approximately the largest number of float64 values in a batch.
const maxBatch = 1 << 20

// layersGraph implements embedding.Graph.
type layersGraph struct {
	*layers.Network
	counts []int // number of rows of a record that each matrix maps
	batch  int
}

// Name returns "gorgonia" and the name of the network.
func (g layersGraph) Name() string { return "gorgonia " + g.Network.Name() }

// rowsOf returns the number of rows of a record that each matrix of the steps maps.
func rowsOf(steps []layers.Step) (counts []int) {
	for _, s := range steps {
		rows, matrices := 1, 1
		if len(s.In) == 2 && s.Kind != "output" {
			rows = s.In[0]
		}
		switch s.Kind {
		case "convolution":
			rows = s.Out[1] * s.Out[2]
		case "embedding":
			matrices = len(s.Embedding)
		case "attention":
			matrices = 4 * s.Attention.Heads
		case "residual":
			counts = append(counts, rowsOf(s.Inner)...)
			matrices = 0
		case "pooling", "activation":
			matrices = 0
		}
		counts = append(counts, slices.Repeat([]int{rows}, matrices)...)
	}
	return counts
}

// matrix is a layer of Layers in the graph, for rows rows of a record.
type matrix struct {
	embedding.Layer
	norm               bool // the layer has the factors and shifts of a normalisation
	outputs            int
	rows, in, out      int
	weights            []float64 // matrix in x out, or the factors of all rows of the batch
	shift              []float64 // bias, for all rows of the batch
	weighted, shifted  vertex
	x, dz              vertex    // copies of the operand of the matrix, and of the derivative with respect to its result
	inputs, derivative []float64 // of a batch; derivative has values for each of the m outputs
}

// layersTape implements embedding.Blocks.
type layersTape struct {
	layersGraph
	d, m         int
	x, picked, f []float64
	value        vertex
	matrices     []matrix
	machine      gorgonia.VM
	failed       []bool
}

var _ embedding.Blocks = (*layersTape)(nil)

// NewTape implements embedding.Graph.
func (g layersGraph) NewTape() (made embedding.Tape, err error) {
	graphs.Lock()
	defer graphs.Unlock()
	defer recovered(&err, "network "+g.Name())
	t := &layersTape{layersGraph: g, failed: make([]bool, g.batch)}
	t.d, t.m = g.Dims()
	t.x, t.picked, t.f = make([]float64, g.batch*t.d), make([]float64, g.batch*t.m), make([]float64, g.batch*t.m)
	for i, l := range g.Layers() {
		m := matrix{Layer: l, outputs: t.m, rows: g.counts[i], in: l.Cols, out: l.Rows}
		if l.Bias {
			m.in--
		}
		t.matrices = append(t.matrices, m)
	}
	b := &layerBuilder{g: gorgonia.NewGraph(), batch: g.batch, matrices: t.matrices}
	t.value = b.run(g.Steps(), b.input(t.x, g.batch, t.d))
	cost := b.unary(func(x vertex) (vertex, error) { return gorgonia.Sum(x) },
		b.binary(gorgonia.HadamardProd, t.value, b.input(t.picked, g.batch, t.m)))
	if err := errors.Join(b.err, wrongOperation(b.g)); err != nil {
		return nil, fmt.Errorf("gorgonia: network %s: %w", g.Name(), err)
	}
	var shifts gorgonia.Nodes
	for _, m := range t.matrices {
		shifts = append(shifts, m.shifted)
	}
	derivatives, err := gorgonia.Grad(cost, shifts...)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: network %s has no gradient: %w", g.Name(), err)
	}
	for i := range t.matrices {
		t.matrices[i].dz = b.copied(derivatives[i])
	}
	t.value = b.copied(t.value)
	t.machine = gorgonia.NewTapeMachine(b.g)
	return t, b.err
}

// Set implements embedding.Tape.
func (t *layersTape) Set(theta []float64) error {
	for i := range t.matrices {
		m := &t.matrices[i]
		for k := range m.shift {
			switch {
			case m.norm:
				feature := k % m.out * m.Cols / m.out
				m.weights[k], m.shift[k] = theta[feature], theta[m.Cols+feature]
			case m.Bias:
				m.shift[k] = theta[k%m.out*m.Cols+m.in]
			}
		}
		if !m.norm {
			for k := range m.weights {
				m.weights[k] = theta[k%m.out*m.Cols+k/m.out]
			}
		}
		theta = theta[m.Len():]
	}
	return nil
}

// Rows implements embedding.Blocks.
func (t *layersTape) Rows() int { return t.batch }

// Block implements embedding.Blocks. If a batch fails, each of its records is computed separately.
func (t *layersTape) Block(x []float64, rows int) {
	clear(t.failed)
	if t.compute(x, rows, 0) == nil {
		return
	}
	for i := range rows {
		t.failed[i] = t.compute(x[i*t.d:][:t.d], 1, i) != nil
	}
}

// compute runs the graph for rows records and stores the results for the records from index to on.
func (t *layersTape) compute(x []float64, rows, to int) (err error) {
	defer recovered(&err, "network "+t.Name())
	clear(t.x[copy(t.x, x):])
	for k := range t.m {
		clear(t.picked)
		for i := range rows {
			t.picked[i*t.m+k] = 1
		}
		t.machine.Reset()
		if err := t.machine.RunAll(); err != nil {
			return fmt.Errorf("gorgonia: network %s: %w", t.Name(), err)
		}
		if k == 0 {
			if err := keep(t.f[to*t.m:], t.value, rows*t.m); err != nil {
				return err
			}
		}
		for i := range t.matrices {
			m := &t.matrices[i]
			in, out := m.rows*m.in, m.rows*m.out
			if k == 0 {
				if err := keep(m.inputs[to*in:], m.x, rows*in); err != nil {
					return err
				}
			}
			if err := keep(m.derivative[(k*t.batch+to)*out:], m.dz, rows*out); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep copies the first count numbers of a node.
func keep(dst []float64, n vertex, count int) error {
	v, err := numbers(n.Value(), n.Shape().TotalSize())
	if err == nil {
		copy(dst, v[:count])
	}
	return err
}

var errRecord = errors.New("gorgonia: the network gave no value for a record")

// Row implements embedding.Blocks.
func (t *layersTape) Row(g, jac []float64, i int) error {
	if t.failed[i] {
		return errRecord
	}
	copy(g, t.f[i*t.m:][:t.m])
	clear(jac)
	size := len(jac) / t.m
	for k := range t.m {
		at := jac[k*size:][:size]
		for _, m := range t.matrices {
			for r := i * m.rows; r < (i+1)*m.rows; r++ {
				m.add(at, m.derivative[(k*t.batch*m.rows+r)*m.out:][:m.out], m.inputs[r*m.in:][:m.in])
			}
			at = at[m.Len():]
		}
	}
	return nil
}

// add adds the derivative of a row with respect to the parameters: dz times (x, 1).
func (m *matrix) add(to, dz, x []float64) {
	for k, d := range dz {
		if m.norm {
			feature := k * m.Cols / m.out
			to[feature] += d * x[k]
			to[m.Cols+feature] += d
			continue
		}
		row := to[k*m.Cols:][:m.Cols]
		for c, v := range x {
			row[c] += d * v
		}
		if m.Bias {
			row[m.in] += d
		}
	}
}

// Jacobian implements embedding.Tape.
func (t *layersTape) Jacobian(g, jac, x []float64) error {
	t.Block(x, 1)
	return t.Row(g, jac, 0)
}

// The parameters of check: the largest difference of a graph's values from plain Go's, relative to their
// size, and the number of points.
const (
	layersTolerance = 1e-10
	layersTries     = 4
)

// check compares the graph with plain Go. For each matrix it computes a difference quotient in a random
// direction, which takes two values. The difference may cross a kink of relu or of a maximum, but not at
// every point.
func (g layersGraph) check() error {
	tapes := make([]*layersTape, 2)
	for i := range tapes {
		made, err := g.NewTape()
		if err != nil {
			return err
		}
		tapes[i] = made.(*layersTape)
	}
	made := tapes[0]
	r := rand.New(rand.NewPCG(2, 2))
	size, d, m := embedding.Parameters(g), made.d, made.m
	x, f, jac := make([]float64, g.batch*d), make([]float64, m), make([]float64, m*size)
	value, jacobian, plain := make([]float64, m), make([]float64, m*size), g.NewPass(nil)
	agreed := make([]bool, len(g.Layers()))
	var wrong error
	for try := range layersTries {
		for k := range x {
			x[k] = r.NormFloat64() / math.Sqrt(float64(d))
		}
		theta := g.Start(uint64(try))
		for k := range theta {
			theta[k] += 0.1 * r.NormFloat64()
		}
		if err := errors.Join(made.Set(theta), made.Jacobian(f, jac, x)); err != nil {
			return err
		}
		at := func(dst []float64) {
			plain.Set(theta)
			plain.Embed(dst, make([]float64, 1), x, 1)
		}
		at(value)
		for k, v := range f {
			if !(math.Abs(v-value[k]) <= layersTolerance*(1+math.Abs(v))) {
				return fmt.Errorf("%w: network %s: the graph computes %v, but plain Go computes %v",
					autodiff.ErrGradientsDisagree, g.Name(), v, value[k])
			}
		}
		from := 0
		for i, l := range g.Layers() {
			if err := difference(at, theta[from:][:l.Len()], jac[from:], size, m, r); err == nil {
				agreed[i] = true
			} else {
				wrong = fmt.Errorf("%w: network %s, %s: %w", autodiff.ErrGradientsDisagree, g.Name(), l.Name, err)
			}
			from += l.Len()
		}
		slices.Reverse(x) // the record is now the last one, reversed: reverse it again
		slices.Reverse(x[(g.batch-1)*d:])
		for _, t := range tapes {
			err := t.Set(theta)
			t.Block(x, g.batch)
			if err = errors.Join(err, t.Row(value, jacobian, g.batch-1)); err != nil {
				return err
			}
			if !slices.EqualFunc(f, value, sameBits) || !slices.EqualFunc(jac, jacobian, sameBits) {
				return fmt.Errorf("%w: network %s mixes records: other records of the batch change a record's "+
					"output or Jacobian",
					ErrNotAFunction, g.Name())
			}
		}
	}
	if slices.Contains(agreed, false) {
		return wrong
	}
	return nil
}

// difference compares a part of the Jacobian, whose rows are size apart, with a central difference of f in a
// random direction of block, a part of theta.
func difference(f func(dst []float64), block, jac []float64, size, m int, r *rand.Rand) error {
	direction, was := make([]float64, len(block)), slices.Clone(block)
	for k := range direction {
		direction[k] = r.NormFloat64() / math.Sqrt(float64(len(block)))
	}
	at := func(h float64) []float64 {
		value := make([]float64, m)
		for k, u := range direction {
			block[k] = was[k] + h*u
		}
		f(value)
		copy(block, was)
		return value
	}
	above, below := at(gateStep), at(-gateStep)
	var norm, off float64
	for k := range m {
		var slope float64
		for e, j := range jac[k*size:][:len(block)] {
			slope, norm = slope+j*direction[e], norm+j*j
		}
		off = max(off, math.Abs(slope-(above[k]-below[k])/(2*gateStep)))
	}
	if norm = math.Sqrt(norm); !(off <= gateTolerance*max(norm, 0x1p-10)) {
		return fmt.Errorf("a derivative differs from its difference quotient by %.3g; the Jacobian has norm %.3g",
			off, norm)
	}
	return nil
}
