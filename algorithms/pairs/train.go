package pairs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Train runs a plan over data. W starts at a random point of the ball of radius sqrt(rows), and batches are
// formed as the Spec says. Every batch makes one step W <- W - eta h_t (q + noise). classes holds the class of
// each individual; labelled pairs need no classes. The result depends on the data only through releases of
// session. workers changes the time, never the result. progress gets the number of finished batches. If
// progress has a saved state, the training continues from this state, which consists of the matrix and the
// order of the pairs.
func Train(ctx context.Context, data *embedding.Data, classes []int32, p *Plan, session privacy.Session, workers int,
	progress algorithms.Tracker) ([]float64, error) {
	if err := p.fits(data, classes); err != nil {
		return nil, err
	}
	if p.Spec.Method == Moments {
		return p.trainMoments(ctx, data, workers, session, progress)
	}
	sum, done, err := p.sums(data, classes, Options{Workers: workers})
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }()
	return p.descend(ctx, sum, session, progress)
}

// batchSum sets dst to the sum of the clipped gradients at w of the terms of a batch. members are the indices of its
// pairs, or the individuals of its tuples, one tuple after another. They are nil for all pairs.
type batchSum func(ctx context.Context, dst, w []float64, members []int32, clip float64) error

// sums returns the sums of the plan over data, and a function that frees their resources. By the contract of
// pairgraph, the sum of a batch has the sensitivity of the certificate, so plans do not depend on the device.
func (p *Plan) sums(data *embedding.Data, classes []int32, o Options) (sum batchSum, done func() error, err error) {
	s := p.Spec
	if done = func() error { return nil }; s.Method == Moments { // one release without batches
		return nil, done, nil
	}
	if s.Network != nil && o.Networks != nil && s.Mode == algorithms.NonPrivate {
		return nil, nil, fmt.Errorf("%w: %s cannot sum gradients of networks without clipping; use the CPU "+
			"(--device cpu)", engine.ErrUnsupported, o.Networks.Name())
	}
	_, softmax := s.softmax()
	if o.Engine != nil && (softmax || !s.listed()) {
		return nil, nil, fmt.Errorf("%w: Options.Engine sums only single pairs, but loss %s has tuples or batches; "+
			"leave Options.Engine out", ErrPlan, s.Loss.Name())
	}
	if loss, ok := s.Loss.(embedding.TupleLoss); ok && !s.listed() {
		if s.AllPairs {
			contrastive, _ := loss.(embedding.Contrastive)
			all, err := embedding.NewAllPairs(data, classes, contrastive, s.Rows, o.Workers)
			return func(ctx context.Context, dst, w []float64, _ []int32, clip float64) error {
				return all.Sum(ctx, dst, w, clip)
			}, done, err
		}
		tuples, err := s.tuples(data, classes, loss, o)
		return tuples.Sum, tuples.Close, err
	}
	switch loss := s.Loss.(type) {
	case embedding.ListLoss:
		engine := o.Engine
		if engine == nil {
			engine = embedding.CPU{Workers: o.Workers}
		}
		gradients, err := engine.Sums(data, loss, s.Rows)
		if err != nil {
			return nil, nil, err
		}
		how := embedding.WholeMatrix
		if s.Mode == algorithms.Paper {
			how = embedding.RowByRow
		}
		return func(ctx context.Context, dst, w []float64, members []int32, clip float64) error {
			return gradients.Sum(ctx, dst, w, members, clip, how)
		}, gradients.Close, nil
	case embedding.InfoNCE:
		softmax, err := s.batches(data, loss, o)
		return softmax.Sum, softmax.Close, err
	}
	return nil, nil, fmt.Errorf("%w: loss %s is neither a loss of pairs nor a loss of tuples", ErrPlan, s.Loss.Name())
}

// batches returns the sums over batches of a softmax.
func (s Spec) batches(data *embedding.Data, loss embedding.InfoNCE, o Options) (*embedding.Softmax, error) {
	if o.Networks != nil {
		return embedding.NewSoftmaxOn(o.Networks, data, loss, s.Network.Model, o.Workers)
	}
	return embedding.NewSoftmax(data, loss, s.Network.Model, o.Workers)
}

// tuples returns the sums over tuples, computed by a matrix or a network.
func (s Spec) tuples(data *embedding.Data, classes []int32, loss embedding.TupleLoss,
	o Options) (*embedding.Tuples, error) {
	switch {
	case s.Network != nil && o.Networks != nil:
		return embedding.NewNetworkTuplesOn(o.Networks, data, classes, loss, s.Network.Model, s.Tuple)
	case s.Network != nil:
		return embedding.NewNetworkTuples(data, classes, loss, s.Network.Model, s.Tuple, o.Workers)
	}
	return embedding.NewTuples(data, classes, loss, s.Rows, s.Tuple, o.Workers)
}

// batches forms the batches of a run.
type batches struct {
	*Plan
	session privacy.Session
	// members holds the members of all batches of an epoch: the order of fixed pairs, which is part of the
	// state, or the tuples of the epoch.
	members []int32
	epoch   int // the epoch of the tuples in members
	sample  []int32
}

// next returns the members of batch step of the run, counted from 0, and the number by which
// the sum over the batch is divided.
func (b *batches) next(step int) (members []int32, count int, err error) {
	s := b.Spec
	_, _, count = s.epoch()
	if s.Sampling == Poisson { // the true number of members is secret
		b.sample, err = b.session.SamplePoisson(b.sample, s.Pairs, s.rate())
		return b.sample, count, err
	}
	each, from := max(1, s.Tuple), step%b.Batches*count
	if step%b.Batches == b.Batches-1 {
		count = b.Terms - from
	}
	if epoch := step / b.Batches; s.Tuple > 0 && epoch != b.epoch {
		if b.members, err = embedding.DrawTuples(s.Individuals, s.Tuple, s.Seed, epoch); err != nil {
			return nil, 0, err
		}
		b.epoch = epoch
	}
	if s.AllPairs {
		return nil, count, nil
	}
	return b.members[from*each : (from+count)*each], count, nil
}

func (p *Plan) descend(ctx context.Context, sum batchSum, session privacy.Session,
	progress algorithms.Tracker) ([]float64, error) {
	s := p.Spec
	w, q := make([]float64, s.weights()), make([]float64, s.weights())
	move, state, err := p.mover(w)
	if err != nil {
		return nil, err
	}
	b := &batches{Plan: p, session: session, epoch: -1}
	var order []int32
	if s.listed() && s.Sampling == Fixed {
		order = make([]int32, s.Pairs)
	}
	done, err := progress.Restore(order, state...)
	if err != nil {
		return nil, err
	}
	if done == 0 {
		if s.Network != nil {
			copy(w, s.Network.Start)
			s.Network.Model.Project(w)
		} else {
			session.UniformBall(w, math.Sqrt(float64(s.Rows)))
		}
		if order != nil {
			if order = session.Permutation(s.Pairs); order == nil {
				return nil, errors.New("pairs: the session gave no order of the pairs")
			}
		}
	}
	b.members = order
	steps := p.Batches * s.Epochs
	for i := done; i < steps; i++ {
		members, count, err := b.next(i)
		if err != nil {
			return nil, err
		}
		clip, unit := p.clipAt(w), 1.0
		if s.Mode == algorithms.NonPrivate {
			clip = 1e30 // no clipping
		} else {
			unit = clip
		}
		if err := sum(ctx, q, w, members, clip); err != nil {
			return nil, err
		}
		for k, v := range q {
			q[k] = v / unit / float64(count)
		}
		if p.Noise() == nil {
			err = session.ReleaseExact(q)
		} else {
			err = session.Release(q, p.Certificate(), p.Noise())
		}
		if err != nil {
			return nil, err
		}
		move(q, i+1, unit)
		progress.Keep(i+1, order, state...)
		progress.Step(i+1, steps)
	}
	return w, nil
}

// mover returns a function that makes step tau = 1, 2, ... of w by a release q in units of the clip. It also
// returns w and the vectors on which the next step depends. The function reads released and public numbers only.
func (p *Plan) mover(w []float64) (move func(q []float64, tau int, unit float64), state [][]float64, err error) {
	s := p.Spec
	if n := s.Network; n != nil {
		steps, err := n.Optimizer.Steps(p.Algorithm, len(w), p.Batches*s.Epochs, s.StepSize, p.Noise())
		if err != nil {
			return nil, nil, err
		}
		return func(q []float64, tau int, _ float64) {
			steps.Move(w, q, tau)
			n.Model.Project(w)
		}, append([][]float64{w}, steps.Vectors()...), nil
	}
	eta, last := 0.0, 0
	return func(q []float64, tau int, unit float64) {
		for ; last < tau; last++ {
			eta = s.stepSize(last+1, eta)
		}
		for k, v := range q {
			// Noise can drive a matrix out of range. The clamped result is a function of released numbers.
			w[k] = math.Max(-1e100, math.Min(1e100, w[k]-eta*unit*v))
		}
	}, [][]float64{w}, nil
}

// fits checks that data match the plan. It reads public properties only: numbers, bounds and, for Individual,
// how often an id occurs in pairs. If pairs come with classes, it also reads how their labels were made.
func (p *Plan) fits(data *embedding.Data, classes []int32) error {
	s, g := p.Spec, data.Graph()
	norm, bound := data.Norm()
	if g.Len() != s.Individuals || s.listed() && len(g.Pairs()) != s.Pairs || data.Dim() != s.Dim || norm != s.Norm() ||
		bound != s.Bound {
		return fmt.Errorf("%w: the data have %d individuals, %d pairs, %d features and %s norm %g; the plan has %d "+
			"individuals, %d pairs, %d features and %s norm %g", ErrPlan,
			g.Len(), len(g.Pairs()), data.Dim(), norm, bound, s.Individuals, s.Pairs, s.Dim, s.Norm(), s.Bound)
	}
	if len(classes) != s.Individuals && (classes != nil || !s.listed()) {
		return fmt.Errorf("%w: %d classes for %d individuals", ErrPlan, len(classes), s.Individuals)
	}
	if s.listed() {
		if d := g.MaxDegree(); s.Mode != algorithms.NonPrivate && s.Unit == Individual && d > s.Kappa {
			return fmt.Errorf("%w: an individual is in %d pairs, but kappa is %d; cap the pairs "+
				"(pairgraph.Graph.Capped), or plan a larger kappa", ErrPlan, d, s.Kappa)
		}
		for i, e := range g.Pairs() {
			if classes != nil && data.Label(i) != (classes[e.A] != classes[e.B]) {
				return fmt.Errorf("%w: the label of pair %d contradicts the classes of its individuals", ErrPlan, i)
			}
		}
	}
	return nil
}

// Options configures the run of a plan. The fields are as in algorithms.Options.
type Options struct {
	algorithms.Options
	// Engine sums the gradients of pairs. If it is nil, embedding.CPU with Workers is used. It must be nil for tuples
	// and batch softmax losses.
	Engine embedding.Engine
	// Networks computes the network for tuples and batch softmax losses. If it is nil, the CPU does so.
	Networks embedding.TermAccelerator
	Workers  int
}

// Run charges a plan, or resumes a charged run, and trains. It uses algorithms.Execute. The weights are the
// matrix, row-major, Rows x Dim. Any error after the charge is an *algorithms.ChargedError: the charge stands
// although no result was released.
//
// classes holds the class of each individual. Labelled pairs need classes only for Spec.ByClass. Then
// classes are 0 or 1, labels state whether classes differ, and Input flips classes instead of labels.
func Run(ctx context.Context, data *embedding.Data, classes []int32, p *Plan, o Options) (*algorithms.Result, error) {
	if err := p.fits(data, classes); err != nil {
		return nil, err
	}
	if p.Spec.ByClass != (classes != nil) && p.Spec.Method == Input {
		return nil, fmt.Errorf("%w: method input needs classes if Spec.ByClass is set; otherwise leave them out", ErrPlan)
	}
	if o.Source == nil {
		var err error
		if o.Source, err = privacy.NewSource(); err != nil {
			return nil, err
		}
	}
	// Operations that the device does not support are found before the charge. Perturbed data have the same
	// size as data.
	sum, done, err := p.sums(data, classes, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }() // the result is complete by then
	return algorithms.Execute(ctx, algorithms.Job{
		Plan: &p.Plan, Withholds: true, OwnNoise: p.perturbs(),
		Records: func(context.Context, string) (string, error) { return p.hash(data, classes), nil },
		Train: func(ctx context.Context, session privacy.Session, t algorithms.Tracker) ([]float64, error) {
			if p.Spec.Method == Moments {
				return p.trainMoments(ctx, data, o.Workers, session, t)
			}
			if !p.perturbs() {
				return p.descend(ctx, sum, session, t)
			}
			if err := done(); err != nil { // with the data without noise
				return nil, err
			}
			return p.trainPerturbed(ctx, data, classes, t, o)
		},
	}, o.Options)
}

// perturbs reports whether noise is added to the data instead of the gradients.
func (p *Plan) perturbs() bool {
	return p.Spec.Local() && p.Spec.Mode != algorithms.NonPrivate
}

// trainPerturbed draws all noise and trains.
func (p *Plan) trainPerturbed(ctx context.Context, data *embedding.Data, classes []int32, t algorithms.Tracker,
	o Options) ([]float64, error) {
	data, err := p.Perturb(data, classes, o.Source)
	if err != nil {
		return nil, err
	}
	sum, done, err := p.sums(data, nil, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }()
	// The training is post-processing of perturbed data.
	exact, err := privacy.NewPublicSession(o.Source, []account.Event{account.PublicEvent{}})
	if err != nil {
		return nil, err
	}
	return p.descend(ctx, sum, exact, t)
}

// hash returns the SHA-256 of features, pairs, labels and classes. The hash stays in files that are as private
// as the data.
func (p *Plan) hash(data *embedding.Data, classes []int32) string {
	h := sha256.New()
	x, labels := data.Copy()
	_ = binary.Write(h, binary.LittleEndian, x) // a hash accepts all input
	_ = binary.Write(h, binary.LittleEndian, data.Graph().Pairs())
	_ = binary.Write(h, binary.LittleEndian, labels)
	if p.Spec.listed() {
		for _, c := range classes {
			_, _ = h.Write([]byte{byte(c)})
		}
	} else {
		_ = binary.Write(h, binary.LittleEndian, classes)
	}
	return hex.EncodeToString(h.Sum(nil))
}
