package embedding

import (
	"context"
	"math"
	"slices"

	"dyad/engine"
)

// Accelerator is a device such as a GPU that computes networks for all records of a problem
// (docs/theory.md#networks-on-a-gpu). Sums over pairs of embeddings stay on the CPU.
type Accelerator interface {
	// Name returns the name of the device as on the command line.
	Name() string
	// PlanRows returns a RowsKernel for a network. Its error wraps engine.ErrUnsupported if the device cannot
	// compute the network.
	PlanRows(RowsProblem) (RowsKernel, error)
}

// Dense is a Network of dense layers, such as an MLP. An Accelerator needs only its Layers and Activations to
// compute it.
type Dense interface {
	// Activations returns the activation after each of the Layers with a bias: tanh, softplus, relu, silu, or "" for no
	// activation. The last layer has no bias and no activation. ok is false if the network has layers of another kind.
	Activations() (names []string, ok bool)
}

// Activations implements Dense.
func (n MLP) Activations() ([]string, bool) {
	return slices.Repeat([]string{n.Activation.String()}, len(n.Hidden)), true
}

// Activations implements Dense for a Graph that implements it.
func (g graphNetwork) Activations() ([]string, bool) {
	if of, ok := g.Graph.(Dense); ok {
		return of.Activations()
	}
	return nil, false
}

// RowsProblem holds the public numbers of a RowsKernel.
type RowsProblem struct {
	Network Network
	// Norm is the largest norm of a record.
	Norm float64
	// Rows is the largest number of records.
	Rows int
	// Most bounds the sum of ||J_i||_F ||v_i|| over the rows of every Pull.
	Most float64
}

// RowsKernel is a planned network. It is immutable.
type RowsKernel interface {
	// Method returns the names of the device and of its arithmetic for reports.
	Method() string
	// PullError bounds the error of a Pull of all rows at once into zeros. Every Pull has an additional error
	// of at most grid.
	PullError() (e PullError, grid float64)
	// Seconds predicts the time of an Embed and a Pull in seconds. It is 0 if there is no prediction.
	Seconds() float64
	// Bind copies records to the device.
	Bind(r *engine.Records) (Rows, error)
}

// Rows computes the outputs of a network for all records, for one theta after another. It keeps the promises of a
// Pass: g_i, the norm and J_i depend only on record i and theta, bit for bit. The norm is at least the norm of the
// J_i that Pull uses. The values g_i may lie outside of the proved range. Rows is used from one goroutine at a time.
type Rows interface {
	// Embed sets the rows of g to g_theta(x_i) and norms[i] to at least ||J_i||_F, for all records.
	Embed(ctx context.Context, g, norms, theta []float64) error
	// Pull sets grad to the sum of J_i^T v_i over the rows of v, at the theta of the last Embed.
	Pull(ctx context.Context, grad, v []float64) error
	Close() error
}

// TermAccelerator is an Accelerator that also sums terms of several records, which are clipped as a whole (Tuples).
type TermAccelerator interface {
	Accelerator
	// BindTerms copies records to the device. Its error wraps engine.ErrUnsupported if the device cannot compute
	// these terms.
	BindTerms(TermsProblem) (TermRows, error)
}

// TermsProblem describes terms of Size records each. The records are the rows of X and have norm at most Norm. Terms of
// one record are not clipped.
type TermsProblem struct {
	Network Network
	Norm    float64
	X       []float64
	Size    int
}

// TermRows computes sums of terms. g and J_i have the properties that Rows states. A term is a function of its own
// records, their v_i, theta and the clipping norm, bit for bit. The norm of a term is at most the clipping norm.
// Sums of terms are exact except for one rounding at the end. TermRows is used from one goroutine at a time.
//
// A term of one record is J_i^T v_i without clipping. There may be any number of such terms, and a record may occur
// in several of them. For such terms, the argument clip of Begin is not a clipping norm. It is an upper bound of
// the sum of ||J_i||_F ||v_i|| over all terms. The error of Sum is at most SinglesError times this bound.
type TermRows interface {
	// Room returns the largest number of terms of an Embed.
	Room() int
	// Begin begins a sum at theta of terms that are clipped to clip.
	Begin(ctx context.Context, theta []float64, clip float64) error
	// Embed computes g and norms as Rows.Embed does, for the members of terms. Members lists the Size records
	// of each term, one term after another.
	Embed(ctx context.Context, g, norms []float64, members []int32) error
	// Add adds the clipped terms of the last Embed to the sum. A term is the sum of J_i^T v_i over its records.
	Add(ctx context.Context, v []float64) error
	// Sum sets dst to the sum of all added terms.
	Sum(ctx context.Context, dst []float64) error
	Close() error
}

// SinglesError bounds the error of TermRows.Sum for n terms of one record, relative to the bound that Begin takes.
//
// Proof (docs/theory.md#networks-on-a-gpu). An entry of J_i^T v_i takes m fused operations and at most one product. The
// sum of a chunk of up to 256 records takes one more operation for each record. At the end, the sum of integers is
// converted. Truncation changes an entry of a chunk by less than 2^-60 of the bound. A chunk in which every v_i is zero
// adds nothing. All slices of a batch but the last have room for at least 256 records, so at most n/128 + 2 chunks have
// a nonzero v_i. QED
func SinglesError(net Network, n int) float64 {
	_, m := net.Dims()
	return engine.Gamma(m+singleChunk+4) + math.Sqrt(float64(Parameters(net)))*(float64(n)/(singleChunk/2)+2)*0x1p-60
}

// singleChunk is the largest number of records that TermRows sum in floating point, one after the other.
const singleChunk = 256

// Elsewhere returns the kernel that computes the network on an accelerator, or nil if the CPU computes the network.
func (k *kernel) Elsewhere() RowsKernel { return k.elsewhere }

// given is a Pass whose results are already computed. Its Pull does nothing: v stays as the stage made it.
type given struct {
	g, norms []float64 // from a record on
	reach    float64
}

// Set implements Pass.
func (*given) Set([]float64) {}

// Embed implements Pass. Roundings can put embeddings outside of the proved range; Embed moves such embeddings
// into the range. An embedding is still a function of its own record.
func (p *given) Embed(g, norms, _ []float64, rows int) {
	copy(g, p.g[:len(g)])
	copy(norms, p.norms[:rows])
	m := len(g) / rows
	for i := range rows {
		row := g[i*m:][:m]
		if norm := math.Sqrt(sumOfSquares(row)); norm > p.reach {
			for k := range row {
				row[k] *= p.reach / norm * (1 - 0x1p-40)
			}
		}
	}
}

// Pull implements Pass.
func (*given) Pull([]float64, []float64, int) {}

// from sets the results of the worker's pass to the results of the records from this record on.
func (w *worker) from(e *evaluator, record int) {
	if p, ok := w.pass.Pass.(*given); ok {
		p.g, p.norms = e.g[record*e.dim:], e.norms[record:]
	}
}

// scaleBlock replaces the V_i of a block by the input of Rows.Pull, which is 0 for records without a scale.
func (e *evaluator) scaleBlock(w *worker, _, from, count int) {
	for i := from; i < from+count; i++ {
		v := e.v[i*e.dim:][:e.dim]
		if e.scale[i] == 0 {
			clear(v)
			continue
		}
		w.from(e, i)
		w.pass.embed(w.f[:e.dim], w.norms, nil, 1)
		w.pass.pull(nil, v, e.scale[i:], 1)
	}
}
