package embedding

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/internal/tasks"
)

// InfoNCE is a softmax loss of a whole batch of similar pairs (a_i, p_i), i = 1..m. Let s be the cosine of two
// embeddings and t the temperature. The loss is the mean over anchors of
//
//	-log( exp(s(a_i, p_i)/t) / sum over j of exp(s(a_i, p_j)/t) )
//
// (van den Oord, Li and Vinyals 2018, equation 4, with the positives of other pairs as negatives). Symmetric is NT-Xent
// (Chen, Kornblith, Norouzi and Hinton 2020, equation 1): each of the 2m records of a batch is an anchor, and its
// candidates are the other 2m - 1 records. Dissimilar pairs are in no batch. The release is a sum over anchors; for
// Symmetric it is half the sum over all 2m anchors. The divisor of the release is a public number, not m.
type InfoNCE struct {
	// Temperature is t, between 0.02 and 100. It is public.
	Temperature float64
	Symmetric   bool
}

// Temperatures in this range keep logarithms and exponentials far from overflow.
const (
	leastTemperature = 0.02
	mostTemperature  = 100
)

// Name returns "infonce" or "ntxent".
func (l InfoNCE) Name() string {
	if l.Symmetric {
		return "ntxent"
	}
	return "infonce"
}

// Parameter returns the name "temperature" and the temperature.
func (l InfoNCE) Parameter() (string, float64) { return "temperature", l.Temperature }

// Check returns an error unless the temperature is between 0.02 and 100.
func (l InfoNCE) Check() error {
	if !(l.Temperature >= leastTemperature && l.Temperature <= mostTemperature) {
		return fmt.Errorf("embedding: the temperature of a batch softmax is %v, want %g to %g", l.Temperature,
			leastTemperature, float64(mostTemperature))
	}
	return nil
}

// weight is the factor of the row of an anchor.
func (l InfoNCE) weight() float64 {
	if l.Symmetric {
		return 1 / (2 * l.Temperature)
	}
	return 1 / l.Temperature
}

// most bounds the sum over i and j of |C_ij + C_ji| for so many pairs.
func (l InfoNCE) most(pairs int) float64 {
	return 4 * float64(pairs) / l.Temperature * (1 + 0x1p-20)
}

// Softmax computes sums of gradients of InfoNCE over batches of the similar pairs of one data set, with clipped
// gradients of cosines. It is used from one goroutine at a time.
type Softmax struct {
	data    *Data
	loss    InfoNCE
	model   Model
	workers int
	batch   *Batch
	pairs   int       // m of the last batch
	v       []float64 // 2m rows: the first records of the pairs, then the second ones
	totals  []float64 // of rows: sums of exponentials
}

// NewSoftmax returns a Softmax over data for a model with outputs of unit length. It returns an error if the
// temperature is out of range, if the norm of data is not L2, or if Model.NewBatch refuses the model. If workers is
// below 1, one worker is used. The number of workers changes the running time but not the result.
func NewSoftmax(data *Data, loss InfoNCE, model Model, workers int) (*Softmax, error) {
	return newSoftmax(data, loss, model, workers, func() (*Batch, error) { return model.NewBatch(data.bound, data.x) })
}

// NewSoftmaxOn is NewSoftmax with a device, which computes the network and the sums. The CPU computes softmax and
// coefficients. The factor that clips the gradient of a cosine uses a bound of its norm. It returns an error
// wrapping engine.ErrUnsupported if the device does not compute the model. Close frees the memory of the device.
func NewSoftmaxOn(on TermAccelerator, data *Data, loss InfoNCE, model Model, workers int) (*Softmax, error) {
	return newSoftmax(data, loss, model, workers,
		func() (*Batch, error) { return model.NewBatchOn(on, data.bound, data.x) })
}

// Close frees what a device holds.
func (s *Softmax) Close() error { return s.batch.Close() }

func newSoftmax(data *Data, loss InfoNCE, model Model, workers int, made func() (*Batch, error)) (*Softmax, error) {
	if err := errors.Join(loss.Check(), model.maps(data)); err != nil {
		return nil, err
	}
	if data.norm != L2 {
		return nil, fmt.Errorf("embedding: gradients of cosines are clipped in the l2 norm, not %s", data.norm)
	}
	batch, err := made()
	if err != nil {
		return nil, err
	}
	return &Softmax{data: data, loss: loss, model: model, workers: max(workers, 1), batch: batch}, nil
}

// Len returns the number of parameters of the network.
func (s *Softmax) Len() int { return Parameters(s.model.Network) }

// Sum sets dst to a sum over the similar pairs whose indices are in members. The sum is
//
//	sum over anchors i and candidates j of C_ij g_ij,   C_ij = w (exp(s_ij/t)/sum_k exp(s_ik/t) - [j is the positive of i]),
//	g_ij = grad s_ij min(1, clip/||grad s_ij||),
//
// where w is 1/t, or 1/(2t) for NT-Xent. The score s_ij and the clipping factor of g_ij are functions of the two
// records, theta and clip. For this reason, adding one pair changes the sum by at most the bound that
// privacy.SoftmaxSample certifies (docs/theory.md#batch-softmax). SoftmaxError bounds the error of the summation. A
// pair with a record that is not finite counts as dissimilar. theta must be in the balls of the layers. When ctx is
// done, Sum returns ctx.Err(). It takes O(m^2 (dim + units + features)) operations and O(m) memory.
func (s *Softmax) Sum(ctx context.Context, dst, theta []float64, members []int32, clip float64) error {
	clear(dst)
	if err := s.embed(ctx, theta, members, clip); err != nil || s.pairs == 0 {
		return errors.Join(err, ctx.Err())
	}
	n, m := 2*s.pairs, s.batch.m
	if len(s.v) < n*m {
		s.v = make([]float64, n*m)
	}
	if err := s.sumTotals(ctx); err != nil {
		return err
	}
	limit := clip * (1 - 0x1p-40)
	err := s.eachView(ctx, n, func(i int) {
		v := s.v[i*m:][:m]
		clear(v)
		for j := range n {
			c := s.coefficients(i, j)
			if c == 0 {
				continue
			}
			if length := s.batch.Length(i, j); length > limit {
				c *= limit / length
			}
			for k, f := range s.batch.Embedding(j) {
				v[k] += c * f
			}
		}
	})
	if err != nil {
		return err
	}
	return s.batch.Pull(ctx, dst, s.v[:n*m])
}

// embed takes the similar pairs among members.
func (s *Softmax) embed(ctx context.Context, theta []float64, members []int32, clip float64) error {
	if s.pairs = 0; len(members) == 0 {
		return nil
	}
	if err := s.batch.Begin(ctx, theta, clip*s.loss.most(len(members))); err != nil {
		return err
	}
	live := make([]int32, 0, len(members))
	for _, p := range members {
		if !s.data.Label(int(p)) {
			live = append(live, p)
		}
	}
	for {
		m := len(live)
		records := make([]int32, 2*m)
		for i, p := range live {
			e := s.data.graph.Pairs()[p]
			records[i], records[m+i] = e.A, e.B
		}
		usable, err := s.batch.Embed(ctx, records)
		if err != nil {
			return err
		}
		kept := live[:0]
		for i, p := range live {
			if usable[i] && usable[m+i] {
				kept = append(kept, p)
			}
		}
		if s.pairs = len(kept); len(kept) == m {
			return nil
		}
		live = kept
	}
}

// candidate reports whether j is in the softmax of anchor i.
func (s *Softmax) candidate(i, j int) bool {
	if s.loss.Symmetric {
		return i != j
	}
	return i < s.pairs && j >= s.pairs
}

// positive is the other record of the pair of i.
func (s *Softmax) positive(i int) int { return (i + s.pairs) % (2 * s.pairs) }

// exponential is exp(s_ij/t).
func (s *Softmax) exponential(i, j int) float64 {
	return math.Exp(s.batch.Cosine(i, j) / s.loss.Temperature)
}

// sumTotals sets the sums of exponentials of all anchors.
func (s *Softmax) sumTotals(ctx context.Context) error {
	n := 2 * s.pairs
	if len(s.totals) < n {
		s.totals = make([]float64, n)
	}
	return s.eachView(ctx, n, func(i int) {
		sum := 0.0
		for j := range n {
			if s.candidate(i, j) {
				sum += s.exponential(i, j)
			}
		}
		s.totals[i] = sum
	})
}

// coefficients is C_ij + C_ji. C_ij is 0 if j is not a candidate of i. The exponential is the same for both, bit for
// bit.
func (s *Softmax) coefficients(i, j int) (sum float64) {
	of, by := s.candidate(i, j), s.candidate(j, i)
	if !of && !by {
		return 0
	}
	e := s.exponential(i, j)
	if of {
		sum = s.coefficient(e, i, j)
	}
	if by {
		sum += s.coefficient(e, j, i)
	}
	return sum
}

// coefficient is C_ij for the exponential e of a candidate j.
func (s *Softmax) coefficient(e float64, i, j int) float64 {
	p := e / s.totals[i]
	if j == s.positive(i) {
		p--
	}
	return p * s.loss.weight()
}

// eachView calls do for every record of the batch.
func (s *Softmax) eachView(ctx context.Context, n int, do func(i int)) error {
	const rows = 16
	return tasks.Each(ctx, s.workers, (n+rows-1)/rows, func(_, c int) {
		for i := c * rows; i < min((c+1)*rows, n) && ctx.Err() == nil; i++ {
			do(i)
		}
	})
}

// SoftmaxError bounds the distance between the computed Sum and the sum of its terms C_ij g_ij, for at most `pairs`
// pairs of records of norm at most norm. The bound holds for every data set and every theta in the balls. C_ij are
// computed from the computed exponentials, and g_ij from the computed factors, embeddings and Jacobians.
//
// Proof. The absolute values of the coefficients of the anchors add up to 2 m/t. A coefficient is computed with a sum
// of up to 2m exponentials, a quotient and fewer than 8 more roundings. So the errors of the coefficients add up to at
// most gamma(2m + 12) 2 m/t. This is multiplied by clip, which bounds ||g_ij||. Two more errors come from rounding v_i
// = sum_j q_ij (C_ij + C_ji) f_j and from rounding in Pull (Model.BatchError). The norms of the v_i add up to 2 (2
// m/t), and each product has at most 2m + 12 roundings. If the network is not an MLP, q_ij <= clip/(||J_i|| + ||J_j||),
// so ||J_i|| ||v_i|| <= clip sum_j |C_ij + C_ji|. The same holds for every network on a device. QED
func SoftmaxError(model Model, loss InfoNCE, norm float64, pairs int, clip float64) float64 {
	const up = 1 + 0x1p-20
	most := loss.most(pairs)
	g := engine.Gamma(2*pairs + 12)
	return (g*most/2*clip + model.BatchError(norm, 2*pairs, most, g*most, clip)) * up
}
