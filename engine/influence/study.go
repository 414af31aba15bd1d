package influence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/objective"
)

// Options select the parts of a study.
type Options struct {
	L2       float64 // coefficient of the objective's L2 term, positive
	Envelope float64 // if above 0, phi is replaced by its Moreau envelope with this mu
	// On holds records. An effect is a change of the mean loss on these records.
	On *engine.Records
	// Start holds the initial weights of a network. It is nil for linear scores and metrics, which start at 0.
	Start []float64
	Check int // number of records for which the model is fitted again without the record
	// Stability selects the coefficients of pairwise stability. Rays is the number of random directions in
	// which the Polyak-Lojasiewicz ratio is evaluated.
	Stability bool
	Rays      int
	Guarantee string // text about the guarantee in the result
	Progress  func(part string, done, total int)
	Estimate  func(seconds float64)
}

// Influences holds the effects of single records on a model fitted with the loss of the study. They have no privacy
// guarantee.
type Influences struct {
	Records    int     `json:"records"`
	Objective  string  `json:"objective"`
	L2         float64 `json:"l2"`
	Parameters int     `json:"parameters"`
	// Mean is the mean loss on the records of Options.On. Changes holds the first-order change of this mean for
	// each record if the record is left out. It is positive for records that help.
	Mean    float64   `json:"mean_loss"`
	Changes []float64 `json:"changes"`
	// Checked has one entry for each checked record. For each of them the model was fitted again without
	// the record. The entries are in order of descending predicted change.
	Checked []Checked `json:"checked,omitempty"`
	// Pearson and Rank are correlations of predicted and exact changes. They need at least three checked records.
	Pearson *float64 `json:"pearson,omitempty"`
	Rank    *float64 `json:"rank_correlation,omitempty"`
	// PL is the smallest Polyak-Lojasiewicz ratio at PLPoints evaluated points. The constant mu of the condition
	// is at most PL. PL is absent if every point was at the minimum.
	PL       *float64 `json:"polyak_lojasiewicz,omitempty"`
	PLPoints int      `json:"polyak_lojasiewicz_points"`
	// Elastic holds, for each record, the largest first-order change of a pair's loss if the record is left
	// out. Uniform is the largest value in Elastic. UniformBound is the theoretical bound for convex losses.
	Elastic []float64 `json:"elastic_stability,omitempty"`
	Uniform *float64  `json:"uniform_stability,omitempty"`
	// Expected is the largest mean change of a pair's loss. The mean for one pair is taken over all records, each of
	// which is left out once. Expected is the coefficient of [Kang21] Theorem 3 and at most Uniform.
	Expected     *float64 `json:"expected_elastic_stability,omitempty"`
	UniformBound *float64 `json:"uniform_stability_bound,omitempty"`
	Guarantee    string   `json:"guarantee"`
}

// Checked holds the result of fitting the model again without one record.
type Checked struct {
	Record    int     `json:"record"` // index of the record, from 0
	Predicted float64 `json:"predicted"`
	Exact     float64 `json:"exact"`
}

// Study fits a model to the records r with the given loss, without noise. It computes the effect of each record on the
// model. r must have labels. Study evaluates n^2 losses of pairs, and the same number again for every checked record.
func Study(ctx context.Context, backend engine.Backend, loss engine.Loss, r *engine.Records,
	o Options) (*Influences, error) {
	f, err := fit(ctx, backend, loss, r, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.influences(ctx, o)
}

// fitted holds an objective and the weights at its minimum.
type fitted struct {
	*Objective
	loss    engine.Loss
	backend engine.Backend
	bounds  engine.Bounds
	weights []float64
}

// fit minimises the objective of a loss.
func fit(ctx context.Context, backend engine.Backend, loss engine.Loss, r *engine.Records, o Options) (*fitted, error) {
	f := &fitted{loss: loss, backend: backend, bounds: r.Bounds()}
	radius := 0.0
	if o.Start != nil {
		f.weights = slices.Clone(o.Start)
		f.loss = widened(loss)
		if o.Envelope > 0 {
			return nil, fmt.Errorf("influence: a network has no Moreau envelope; choose a smooth loss")
		}
	} else {
		f.weights = make([]float64, loss.ParamDim(r.Dim()))
		// The minimisation starts at w = 0 and F decreases, so L2/2 ||w||^2 <= F(0) for losses that are not
		// negative. For negative losses, the search stays within the radius.
		mean, err := objective.Mean(ctx, loss, f.weights, r)
		if err != nil {
			return nil, err
		}
		radius = 1 + 1.2*math.Sqrt(2*math.Abs(mean)/o.L2)
		if o.Envelope != 0 {
			if f.loss, err = envelope(loss, r.Bounds(), radius, o.Envelope); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if f.Objective, err = NewObjective(f.backend, f.loss, r, o.L2, radius); err != nil {
		return nil, err
	}
	if err := f.Minimise(ctx, f.weights); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// widened returns the loss of a network with balls of the layers so large that a fit without noise stays inside them.
func widened(loss engine.Loss) engine.Loss {
	net, ok := loss.(embedding.Loss)
	if !ok {
		return loss
	}
	mlp, ok := net.Model.Network.(embedding.MLP)
	if !ok {
		return loss
	}
	radii := slices.Clone(mlp.Radii)
	for i := range radii {
		radii[i] *= 16
	}
	mlp.Radii = radii
	net.Model.Network = mlp
	return net
}

// envelope returns the loss whose phi is the Moreau envelope of the phi of the given loss.
func envelope(loss engine.Loss, b engine.Bounds, radius, mu float64) (engine.Loss, error) {
	var of engine.Scalar
	var lo, hi float64
	switch l := loss.(type) {
	case engine.ScalarLoss:
		of = l.Scalar()
		lo, hi = l.MarginRange(b, radius)
	default:
		return nil, fmt.Errorf("influence: the loss %s has no function phi(u), so it has no Moreau envelope; train "+
			"with another --loss", loss.Name())
	}
	e, err := engine.NewEnvelope(of, mu, lo, hi)
	if err != nil {
		return nil, err
	}
	if _, ok := loss.(engine.MetricLoss); ok {
		return engine.Metric{Of: e}, nil
	}
	return engine.Score{Of: e}, nil
}

// influences computes the influences of a fitted objective.
func (f *fitted) influences(ctx context.Context, o Options) (*Influences, error) {
	n := f.Len()
	out := &Influences{Records: n, Objective: f.Definition(), L2: o.L2, Parameters: f.Dim(), Guarantee: o.Guarantee}
	on, err := NewObjective(f.backend, f.loss, o.On, 0, f.Radius())
	if err != nil {
		return nil, err
	}
	defer on.Close()
	if out.Mean, err = on.Value(ctx, f.weights); err != nil {
		return nil, err
	}
	gradient := make([]float64, f.Dim())
	if err := on.Gradient(ctx, gradient, f.weights); err != nil {
		return nil, err
	}
	if out.Changes, err = f.Changes(ctx, f.weights, gradient); err != nil {
		return nil, err
	}
	progress := func(part string) func(done, total int) {
		return func(done, total int) {
			if o.Progress != nil {
				o.Progress(part, done, total)
			}
		}
	}
	if err := f.check(ctx, out, on, o.Check, progress("leaving records out")); err != nil {
		return nil, err
	}
	if o.Stability {
		if err := f.stability(ctx, out, Progress{Estimate: o.Estimate, Step: progress("stability")}); err != nil {
			return nil, err
		}
	}
	pl, err := f.PolyakLojasiewicz(ctx, f.weights, 1, o.Rays, 1)
	if err != nil {
		return nil, err
	}
	if out.PLPoints = pl.Points; pl.Points > 0 {
		out.PL = &pl.Smallest
	}
	return out, nil
}

// check leaves out count records, spread evenly over the order of their influence, and fits the model again
// without each of them.
func (f *fitted) check(ctx context.Context, out *Influences, on *Objective, count int,
	step func(done, total int)) error {
	order := out.Order()
	n := len(order)
	count = min(count, n)
	without := make([]float64, f.Dim())
	var predicted, exact []float64
	for k := range count {
		i := order[k*(n-1)/max(1, count-1)]
		if err := f.Refit(ctx, without, f.weights, i); err != nil {
			return err
		}
		mean, err := on.Value(ctx, without)
		if err != nil {
			return err
		}
		out.Checked = append(out.Checked, Checked{i, out.Changes[i], mean - out.Mean})
		predicted, exact = append(predicted, out.Changes[i]), append(exact, mean-out.Mean)
		step(k+1, count)
	}
	if count >= 3 {
		p, r := correlation(predicted, exact), correlation(ranks(predicted), ranks(exact))
		if !math.IsNaN(p) && !math.IsNaN(r) { // NaN if the numbers are constant
			out.Pearson, out.Rank = &p, &r
		}
	}
	return nil
}

// correlation returns Pearson's correlation, or NaN if all numbers of a list are equal.
func correlation(a, b []float64) float64 {
	mean := func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x / float64(len(v))
		}
		return sum
	}
	var ab, aa, bb float64
	ma, mb := mean(a), mean(b)
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// Order returns the indices of the records sorted by Changes, the largest first. Records with equal changes are
// sorted by index.
func (i *Influences) Order() []int { return order(i.Changes) }

func order(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// ranks returns the ranks of numbers. Equal numbers get the mean of their ranks.
func ranks(values []float64) []float64 {
	order, out := order(values), make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

// stability adds the coefficients of stability, computed from first-order changes.
func (f *fitted) stability(ctx context.Context, out *Influences, p Progress) error {
	s, err := f.Stability(ctx, f.weights, func(dst []float64, i int) error {
		if err := f.Change(ctx, dst, f.weights, i); err != nil {
			return err
		}
		for k, w := range f.weights {
			dst[k] += w
		}
		return nil
	}, p)
	if err != nil {
		return err
	}
	out.Elastic, out.Uniform, out.Expected = s.Elastic, &s.Uniform, &s.Expected
	if c, err := f.loss.Constants(f.bounds, f.Radius()); err == nil && c.Convex {
		bound := uniformBound(c.Lipschitz, out.L2, f.Len())
		out.UniformBound = &bound
	}
	return nil
}
