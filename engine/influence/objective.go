// Package influence computes the effect of single records on a model. Influence functions give the change of
// the model if a record is left out ([Kang21] section 5.2 after Koh and Liang 2017). Pairwise locally elastic
// and uniform stability give the resulting change of the loss of any pair. The Polyak-Lojasiewicz ratio gives
// the growth of an objective away from its minimum.
//
// The results have no privacy guarantee: every number is a function of the records without noise. Package
// algorithms must not import this package.
package influence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/floats"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/objective"
	"dyad/internal/tasks"
)

// Objective is a regularised mean loss over the pairs of records,
//
//	F(w) = 1/(n(n-1)) sum over i != j of l(w; z_i, z_j) + L2/2 ||w||^2.
//
// An Objective must be used by one goroutine at a time.
type Objective struct {
	backend engine.Backend
	loss    engine.Loss
	net     *embedding.Loss // the loss if it is the loss of a network, otherwise nil
	records *engine.Records
	l2      float64
	radius  float64
	eval    engine.Evaluator
}

// NewObjective returns the objective of a loss on records. The loss must be smooth, or the loss of a network.
// For a network, the clipping of Jacobians is left out, because influence concerns the loss itself. l2 is at
// least 0. radius is the bound on ||w|| for all methods. For a network, it is the radius of the balls of the
// layers, and l2 must keep the weights within them. The records must not be grouped by person and must not be a
// shard. The caller must close the objective.
func NewObjective(backend engine.Backend, loss engine.Loss, r *engine.Records, l2, radius float64) (*Objective, error) {
	switch {
	case r.ByPerson():
		return nil, errors.New("influence: only single rows can be left out, not persons; load each row as a record")
	case r.IsShard():
		return nil, errors.New("influence: this process holds only a part of the records; use one process, which " +
			"sees every pair")
	case r.Len() < 4:
		return nil, fmt.Errorf("influence: there are %d records; want at least 4", r.Len())
	case !(l2 >= 0) || math.IsInf(l2, 0):
		return nil, fmt.Errorf("influence: the L2 coefficient is %v, but it must be a finite number of at least 0", l2)
	}
	o := &Objective{backend: backend, loss: loss, records: r, l2: l2, radius: radius}
	if net, ok := loss.(embedding.Loss); ok {
		net.Clip, net.PairClip = unclipped, 0
		o.loss, o.net, o.radius = net, &net, net.Radius()
	}
	c, err := o.loss.Constants(r.Bounds(), o.radius)
	if err != nil {
		return nil, err
	}
	if math.IsInf(c.Smoothness, 1) && o.net == nil {
		return nil, fmt.Errorf("influence: loss %s is not smooth; choose a smooth loss or its Moreau envelope", loss.Name())
	}
	k, err := backend.Plan(engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: o.loss, Radius: o.radius,
		LabelValues: engine.AnyLabels})
	if err != nil {
		return nil, err
	}
	o.eval, err = k.Bind(r)
	return o, err
}

// unclipped is a clipping norm larger than the norm of any Jacobian.
const unclipped = 0x1p100

// Close releases the workers of the objective.
func (o *Objective) Close() error { return o.eval.Close() }

// Definition returns the formula of the loss. For a network, it is the formula without clipping.
func (o *Objective) Definition() string {
	if o.net != nil {
		return fmt.Sprintf("%s, f = %s", o.net.Pair.Definition(), o.net.Model.Network.Name())
	}
	return o.loss.Definition()
}

// Len returns the number of records.
func (o *Objective) Len() int { return o.records.Len() }

// Dim returns the number of parameters.
func (o *Objective) Dim() int { return o.loss.ParamDim(o.records.Dim()) }

// Radius returns the bound on ||w||.
func (o *Objective) Radius() float64 { return o.radius }

// Without returns the objective of all records except record i. Its mean is over the remaining pairs. The
// caller must close it.
func (o *Objective) Without(i int) (*Objective, error) {
	rows := make([]int, 0, o.Len()-1)
	for j := range o.Len() {
		if j != i {
			rows = append(rows, j)
		}
	}
	return NewObjective(o.backend, o.loss, o.records.Subset(rows), o.l2, o.radius)
}

// Gradient sets dst to the gradient of F at w. dst and w have length Dim.
func (o *Objective) Gradient(ctx context.Context, dst, w []float64) error {
	if err := o.within(w); err != nil {
		return err
	}
	all := engine.AllPairs{N: o.Len()}
	if err := o.eval.Sum(ctx, dst, engine.Gradient(w, all)); err != nil {
		return err
	}
	for k := range dst {
		dst[k] = dst[k]/float64(all.Len()) + o.l2*w[k]
	}
	return nil
}

// ErrOutside is returned if weights are outside the objective's radius or outside the balls of a network's layers.
var ErrOutside = errors.New("influence: the weights left the planned ball; raise the L2 coefficient")

// within checks that w is in the domain for which sums over pairs are planned.
func (o *Objective) within(w []float64) error {
	if !(floats.Norm(w, 2) <= o.radius) {
		return ErrOutside
	}
	if o.net == nil {
		return nil
	}
	for _, l := range o.net.Model.Network.Layers() {
		if !(floats.Norm(w[:l.Len()], 2) <= l.Radius) {
			return fmt.Errorf("%w (%s)", ErrOutside, l.Name)
		}
		w = w[l.Len():]
	}
	return nil
}

// Value returns F(w).
func (o *Objective) Value(ctx context.Context, w []float64) (float64, error) {
	mean, err := 0.0, error(nil)
	if o.net == nil {
		mean, err = objective.Mean(ctx, o.loss, w, o.records)
	} else {
		var sums []float64
		if sums, err = o.recordSums(ctx, w); err == nil {
			for _, v := range sums { // every ordered pair occurs in the sums of both of its records
				mean += v / 2
			}
			mean /= float64(engine.AllPairs{N: o.Len()}.Len())
		}
	}
	return mean + o.l2/2*floats.Dot(w, w), err
}

// HessianVector sets dst to the Hessian of F at w times v. It uses a central difference of gradients at points
// at distance 2^-14 max(1, ||w||) from w. The error is near 1e-8 ||v|| for losses whose third derivatives are
// near 1.
func (o *Objective) HessianVector(ctx context.Context, dst, w, v []float64) error {
	length := floats.Norm(v, 2)
	if length == 0 {
		clear(dst)
		return nil
	}
	h := 0x1p-14 * max(1, floats.Norm(w, 2)) / length
	at, low := make([]float64, len(w)), make([]float64, len(w))
	floats.AddScaledTo(at, w, -h, v)
	if err := o.Gradient(ctx, low, at); err != nil {
		return err
	}
	floats.AddScaledTo(at, w, h, v)
	if err := o.Gradient(ctx, dst, at); err != nil {
		return err
	}
	for k := range dst {
		dst[k] = (dst[k] - low[k]) / (2 * h)
	}
	return nil
}

// recordSums returns the n sums over j != i of l(w; z_i, z_j) + l(w; z_j, z_i).
func (o *Objective) recordSums(ctx context.Context, w []float64) ([]float64, error) {
	value, err := o.pairValues(w)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, o.Len())
	err = tasks.Each(ctx, runtime.GOMAXPROCS(0), o.Len(), func(_, i int) {
		var sum float64
		for j := range o.Len() {
			if j != i {
				sum += value(i, j) + value(j, i)
			}
		}
		sums[i] = sum
	})
	return sums, err
}

// pairValues returns l(w; z_i, z_j) as a function of i and j, which is safe for concurrent use. Network outputs
// and scores are computed once for each record.
func (o *Objective) pairValues(w []float64) (func(i, j int) float64, error) {
	r, d := o.records, o.records.Dim()
	x := make([]float64, r.Len()*d)
	for i := range r.Len() {
		r.Row(i, x[i*d:][:d])
	}
	y := r.Labels()
	if o.net != nil {
		_, m := o.net.Model.Dims()
		f := make([]float64, r.Len()*m)
		for from := 0; from < r.Len(); from += embedding.BlockRows {
			rows := min(embedding.BlockRows, r.Len()-from)
			if err := o.net.Model.Embed(f[from*m:][:rows*m], w, x[from*d:][:rows*d], rows); err != nil {
				return nil, err
			}
		}
		pair := o.net.Pair
		return func(i, j int) float64 { return pair.Phi(pair.Link().Of(f[i*m:][:m], f[j*m:][:m]), y[i], y[j]) }, nil
	}
	if score, ok := o.loss.(engine.ScoreLoss); ok {
		s := make([]float64, r.Len())
		for i := range s {
			s[i] = floats.Dot(w, x[i*d:][:d])
		}
		return func(i, j int) float64 { return score.Phi((y[i] - y[j]) * (s[i] - s[j])) }, nil
	}
	return func(i, j int) float64 {
		return o.loss.Value(w, engine.Record{X: x[i*d:][:d], Y: y[i]}, engine.Record{X: x[j*d:][:d], Y: y[j]})
	}, nil
}

// record returns record i. x is a buffer of length Records.Dim.
func (o *Objective) record(i int, x []float64) engine.Record {
	o.records.Row(i, x)
	return engine.Record{X: x, Y: o.records.Label(i)}
}

// recordGradient sets dst to the gradient at w of the sum over the pairs of record i, in both orders.
func (o *Objective) recordGradient(dst, w []float64, i int) {
	clear(dst)
	x := make([]float64, 2*o.records.Dim())
	z := o.record(i, x[:len(x)/2])
	for j := range o.Len() {
		if j != i {
			other := o.record(j, x[len(x)/2:])
			o.loss.AddGrad(dst, w, z, other)
			o.loss.AddGrad(dst, w, other, z)
		}
	}
}
