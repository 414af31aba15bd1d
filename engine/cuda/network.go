package cuda

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/kernels"
)

// Sizes of kernels/cuda/network.cu, and limits.
const (
	networkSide   = 64
	networkDepth  = 16
	networkStride = 256
	// networkChunk is the smallest number of records of a partial sum. maxChunks is the largest number of chunks.
	networkChunk = 256
	// widestNetwork limits the numbers of units of a layer, features and outputs, because a grid has fewer than 2^16
	// blocks.
	widestNetwork = 1 << 15
	// mostNetwork limits the norms of hidden values and of back-propagated values, so that no number overflows in
	// float32 (docs/theory.md#networks-on-a-gpu).
	mostNetwork = 0x1p100
)

// networkBack is the kind of a backward step of network_layer. networkKinds holds the kinds of the activations.
const networkBack = 2

var networkKinds = map[string]int{"tanh": 0, "softplus": 1, "relu": 3, "silu": 4, "": 5}

var _ embedding.Accelerator = Backend{}

// dense describes a network of dense layers.
type dense struct {
	name    string
	in, out int
	layers  []embedding.Layer
	kinds   []int // kinds of the activations of hidden layers
}

// denseOf returns the description of a network of dense layers. ok is false if the network has other layers or
// activations.
func denseOf(net embedding.Network) (n dense, ok bool) {
	of, ok := net.(embedding.Dense)
	if !ok {
		return n, false
	}
	names, ok := of.Activations()
	n = dense{name: net.Name(), layers: net.Layers()}
	n.in, n.out = net.Dims()
	for _, name := range names {
		kind, known := networkKinds[name]
		n.kinds, ok = append(n.kinds, kind), ok && known
	}
	return n, ok && len(n.layers) == len(names)+1
}

// units returns the numbers of units of the hidden layers.
func (n dense) units() (units []int) {
	for _, l := range n.layers[:len(n.kinds)] {
		units = append(units, l.Rows)
	}
	return units
}

// largest returns a bound on the norms of hidden values, including the appended constant 1, and on the norms of the
// values that are back-propagated from one output. The norms of the records must be at most norm. The proof uses |h| <=
// |z| + log 2 and |D| <= 1.1 for every activation; the factor 1 + 2^-8 covers the roundings of a layer.
func (n dense) largest(norm float64) float64 {
	most, back := norm, 1.0
	for _, l := range n.layers {
		norm = (l.Radius*math.Hypot(norm, 1) + math.Sqrt(float64(l.Rows))) * (1 + 0x1p-8)
		back *= 1.1 * l.Radius * (1 + 0x1p-8)
		most = max(most, norm, back)
	}
	return most
}

// networkKernel is a planned network of dense layers.
type networkKernel struct {
	dense
	backend Backend
	rows    int     // at most
	unit    float64 // unit of the integer sums
}

// PlanRows implements embedding.Accelerator for an embedding.Dense. The error wraps engine.ErrUnsupported for other
// networks, and for a network that does not fit into the memory of the GPU together with all records.
func (b Backend) PlanRows(p embedding.RowsProblem) (embedding.RowsKernel, error) {
	k, err := b.planNetwork(p)
	if err != nil {
		return nil, orCPU(err)
	}
	return k, nil
}

func (b Backend) planNetwork(p embedding.RowsProblem) (*networkKernel, error) {
	net, ok := denseOf(p.Network)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: network %s cannot run on a GPU; a GPU takes only dense layers and activations "+
			"(such as --model mlp)", engine.ErrUnsupported,
			p.Network.Name())
	case b.Team != nil:
		return nil, fmt.Errorf("%w: the GPUs of a team cannot compute networks; train without a team", engine.ErrUnsupported)
	case p.Rows >= maxRecords:
		return nil, fmt.Errorf("%w: there may be %d rows, but a GPU takes fewer than %d", engine.ErrUnsupported,
			p.Rows, maxRecords)
	case !(net.largest(p.Norm) <= mostNetwork):
		return nil, fmt.Errorf("%w: values up to %.3g in network %s are too large for a GPU, which uses float32",
			engine.ErrUnsupported, net.largest(p.Norm), net.name)
	}
	k := &networkKernel{dense: net, backend: b, rows: p.Rows}
	for _, l := range k.layers {
		if l.Rows >= widestNetwork || l.Cols >= widestNetwork {
			return nil, fmt.Errorf("%w: layer %s has size %d x %d, but a GPU takes at most %d x %d",
				engine.ErrUnsupported, l.Name, l.Rows, l.Cols, widestNetwork-1, widestNetwork-1)
		}
	}
	_, e := math.Frexp(1.01 * p.Most) // at most 2^e
	if k.unit = math.Ldexp(1, e-62); !(k.unit > 0x1p-500 && k.unit < 0x1p500) {
		return nil, fmt.Errorf("%w: the network has gradients of size %.3g, which a GPU cannot sum",
			engine.ErrUnsupported, p.Most)
	}
	if need, have := k.bytes(), b.memory(); need > have {
		return nil, fmt.Errorf("%w: %d rows of network %s need %.1f GiB, but %s has only %.1f", engine.ErrUnsupported, p.Rows,
			net.name, gib(need), b.Name(), gib(have))
	}
	return k, nil
}

// Method implements embedding.RowsKernel.
func (k *networkKernel) Method() string {
	return "one backward pass per record on a GPU: Jacobians in float32, their sums in float64"
}

func (k *networkKernel) stride() int { return roundUp(max(k.rows, 1), networkStride) }

// chunk returns the number of records of a partial sum. It is a function of public sizes.
func (k *networkKernel) chunk() int {
	return roundUp(max(networkChunk, chunksOf(k.stride(), maxChunks)), networkDepth)
}

// PullError implements embedding.RowsKernel.
//
// J_i is the exact Jacobian for the numbers that the kernels hold in float32. These numbers are theta, x_i, the hidden
// values h, their slopes D and, before the last hidden layer, the back-propagated values of each output. The entries of
// J_i for a layer are products of these numbers. To compute an entry of J_i^T v_i, the kernels multiply entries of v_i
// and J_i and add the products of the m outputs. This takes at most m + 1 + chunk + 1 roundings: m fused operations
// with w or with back-propagated values, at most one product with D, one addition for each record of a chunk, and the
// conversion of the integer sum to float64. Scaling by a power of two is exact. The absolute values of the products
// form a vector of norm at most ||J_i||_F ||v_i||, because |J| has the norm of J. So Size = 0, PerNorm = 1.
//
// The sum of a chunk is truncated to a multiple of the unit in each of the P parameters. The norm of this error is less
// than chunks sqrt(P) units. Sums of integers are exact, because sums of absolute values stay below 1.01 Most / unit +
// chunks < 2^63.
func (k *networkKernel) PullError() (embedding.PullError, float64) {
	parameters := 0.0
	for _, l := range k.layers {
		parameters += float64(l.Len())
	}
	chunks := float64(chunksOf(k.stride(), k.chunk()))
	return embedding.PullError{Depth: k.out + k.chunk() + 2, PerNorm: 1,
		Tiny: float64(k.stride()) * parameters * 0x1p-900}, 1.01 * chunks * math.Sqrt(parameters) * k.unit
}

// networkBuffers are the buffers of an evaluator on the GPU.
type networkBuffers struct {
	x, own             driver.Pointer // x: (d + 1) x stride floats, with ones in the last column; own: 1 + ||x||^2
	turned             driver.Pointer // the values back-propagated from one output to the last hidden layer
	w, columns         driver.Pointer // w: weights of the last layer; columns: squared norms of its columns
	g, square, v, left driver.Pointer
	hidden             []hiddenBuffers
	sums               []driver.Pointer // sums of each layer
}

// hiddenBuffers are the buffers of a hidden layer. The last hidden layer has no back, and the first hidden
// layer has no across.
type hiddenBuffers struct {
	// h has units + 1 columns, slope has units columns, and back has units columns for each output in turn
	h, slope, back driver.Pointer
	in, across     driver.Pointer // in: weights by inputs; across: weights by units
}

func (k *networkKernel) blocks(b *networkBuffers) []block {
	stride, m := k.stride(), k.out
	b.hidden, b.sums = make([]hiddenBuffers, len(k.kinds)), make([]driver.Pointer, len(k.layers))
	list := []block{{&b.x, 4 * stride * (k.in + 1)}, {&b.own, 8 * stride}, {&b.g, 8 * stride * m}, {&b.square, 8 * stride},
		{&b.v, 8 * stride * m}}
	widest, in := 0, k.in
	for l, units := range k.units() {
		h := &b.hidden[l]
		widest = max(widest, units)
		list = append(list, block{&h.h, 4 * stride * (units + 1)}, block{&h.slope, 4 * stride * units},
			block{&h.in, 4 * roundUp(in+1, networkDepth) * roundUp(units, networkSide)})
		if l > 0 {
			list = append(list, block{&b.hidden[l-1].back, 4 * stride * m * in},
				block{&h.across, 4 * roundUp(units, networkDepth) * roundUp(in, networkSide)})
		}
		in = units
	}
	if len(k.kinds) > 1 {
		list = append(list, block{&b.turned, 4 * stride * in})
	}
	list = append(list, block{&b.left, 8 * stride * widest}, block{&b.w, 4 * m * in}, block{&b.columns, 8 * in})
	for l, layer := range k.layers {
		list = append(list, block{&b.sums[l], 8 * layer.Len()})
	}
	return list
}

func (k *networkKernel) bytes() uint64 { return bytesOf(k.blocks(&networkBuffers{})) }

// networkRows holds records on a GPU and the values that a network computes for the records.
type networkRows struct {
	*networkKernel
	networkBuffers
	held
	n      int
	module *module
	host   []float64 // m x stride
}

// Bind implements embedding.RowsKernel. It copies the records to the GPU in float32, sparse records as dense rows.
func (k *networkKernel) Bind(r *engine.Records) (embedding.Rows, error) {
	if r == nil || r.Dim() != k.in || r.Len() > k.rows {
		return nil, fmt.Errorf("cuda: Bind: network %s was not planned for these records", k.name)
	}
	e := &networkRows{networkKernel: k, n: r.Len(), host: make([]float64, k.stride()*k.out)}
	return e, e.fill(k.backend.Device, func(c *job) { e.load(c, r) })
}

func (e *networkRows) load(c *job, r *engine.Records) {
	e.start(c, e.blocks(&e.networkBuffers))
	c.clear(e.x, 4*e.stride()*(e.in+1))
	putOnes(c, e.x, e.in, e.stride(), e.n)
	own := make([]float64, e.stride())
	e.upload(c, e.x, e.stride(), own[:e.n], func(i int, row []float64) { r.Row(i, row) })
	c.copyIn(e.own, own)
}

// start allocates memory and sets the values that do not depend on the records.
func (e *networkRows) start(c *job, blocks []block) {
	e.module = e.device.load(c, kernels.PTX("network"))
	e.alloc(c, blocks)
	for l, units := range e.units() { // the 1 of a bias, for existing records
		putOnes(c, e.hidden[l].h, units, e.stride(), e.n)
	}
}

// putOnes sets the first n entries of a column of a matrix of floats to one and the other entries to zero.
func putOnes(c *job, at driver.Pointer, column, stride, n int) {
	ones := make([]float32, stride)
	for i := range n {
		ones[i] = 1
	}
	c.copyWords(at+driver.Pointer(4*column*stride), ones)
}

// upload copies the features of len(own) records by columns, in float32. It sets own to 1 + ||x||^2 of the rounded
// features.
func (k *networkKernel) upload(c *job, to driver.Pointer, stride int, own []float64, read func(i int, row []float64)) {
	d := k.in
	row, at := make([]float64, d), max(stagingBytes/(4*d), 1)
	some := make([]float32, d*min(at, len(own)))
	for from := 0; from < len(own) && c.err == nil; from += at {
		count := min(at, len(own)-from)
		for i := range count {
			read(from+i, row)
			own[from+i] = 1
			for j, v := range row {
				x := float32(v)
				some[j*count+i] = x
				own[from+i] += float64(x) * float64(x)
			}
		}
		for j := range d {
			c.copyWords(to+driver.Pointer(4*(j*stride+from)), some[j*count:][:count])
		}
	}
}
