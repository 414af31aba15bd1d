package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/kernels"
	"dyad/privacy"
)

// task is a drawn problem with everything that a plan of it needs.
type task struct {
	shape
	problem engine.Problem
	backend cpu.Backend
	l2      float64
	budget  privacy.Budget
	network string // its options, "" for other losses
	text    string // of the options
}

// pick is one of the values.
func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// ranges are bounds of records and of w. They are few, because the constants of a loss
// are proved for each range of margins; candidate.ranges says how many of them it is tried with.
var ranges = []struct {
	bounds engine.Bounds
	radius float64
}{
	{engine.Bounds{FeatureNorm: 1, LabelAbs: 1}, 1},
	{engine.Bounds{FeatureNorm: 3, LabelAbs: 0.5}, 0.5},
	{engine.Bounds{FeatureNorm: 1, LabelAbs: 1}, 0.1},
}

// draw draws a problem for a loss. Sizes are small, so that one record weighs much, and
// around the multiples of 4, 8 and 16 at which vector kernels change their path.
func draw(c candidate, groups bool, rng *rand.Rand) task {
	_, metric := c.loss.(engine.MetricLoss)
	var t task
	t.n, t.d = 2+rng.IntN(41), 1+rng.IntN(3)
	if rng.IntN(8) == 0 {
		t.n = 60 + rng.IntN(80)
	}
	if rng.IntN(6) == 0 { // longer rows than vector registers
		t.d = pick(rng, 5, 9, 17, 40)
	}
	if metric {
		t.n, t.d = min(t.n, 40), min(t.d, 5)
	}
	t.sparse = rng.IntN(8) == 0
	at := ranges[rng.IntN(c.ranges)]
	t.bounds = at.bounds
	t.levels = 2
	p := engine.Problem{N: t.n, D: t.d, Bounds: t.bounds, Loss: c.loss, Radius: at.radius}
	if groups && rng.IntN(4) == 0 {
		for left := t.n; left > 0; {
			size := min(left, 1+rng.IntN(9))
			p.Groups, left = append(p.Groups, size), left-size
		}
		if slices.Max(p.Groups) < 2 {
			p.Groups = []int{t.n}
		}
		t.levels = pick(rng, 2, 3, 5)
		if t.levels > 2 {
			p.LabelValues = t.levels
		}
	}
	if rng.IntN(10) == 0 {
		t.levels, p.LabelValues = 0, engine.AnyLabels
	}
	t.backend = cpu.Backend{Workers: 1 + rng.IntN(2), Method: pick(rng, methods(c)...),
		Variant: pick(rng, kernels.Variants()...)}
	switch c.loss.(type) { // the losses with pairs in float32
	case engine.Logistic:
		if t.backend.Float32 = rng.IntN(2) == 0; t.backend.Float32 {
			t.backend.Method = cpu.Direct
		}
	case engine.MahalanobisLogistic:
		t.backend.Float32 = rng.IntN(2) == 0
	}
	t.problem = p
	t.l2 = pick(rng, 0, 0, 0.001, 0.1, 1)
	t.budget = pick(rng, privacy.Budget{Epsilon: 1, Delta: 1e-5}, privacy.Budget{Epsilon: 4, Delta: 1e-5},
		privacy.Budget{Epsilon: 0.1, Delta: 1e-7})
	t.describe()
	return t
}

// methods are those that may be planned for a loss.
func methods(c candidate) []cpu.Method {
	all := []cpu.Method{cpu.Auto, cpu.Direct}
	if _, metric := c.loss.(engine.MetricLoss); metric {
		return all
	}
	if c.ranges < len(ranges) {
		all = []cpu.Method{cpu.Direct} // to prove an expansion of any formula can take long
	} else if _, analytic := c.loss.(engine.AnalyticLoss); analytic {
		all = append(all, cpu.NearLinear)
	}
	if form, ok := c.loss.(engine.ScalarLoss); ok {
		if s, ok := form.Scalar().(engine.PiecewiseScalar); ok {
			if _, ok := s.Pieces(-1, 1); ok {
				all = append(all, cpu.Sorted)
			}
		}
	}
	return all
}

// describe sets the text of the options.
func (t *task) describe() {
	p, b := t.problem, t.backend
	var s []string
	say := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	if t.network != "" {
		say("%s", t.network)
	}
	say("R=%g b=%g r=%g l2=%g eps=%g delta=%g",
		p.Bounds.FeatureNorm, p.Bounds.LabelAbs, p.Radius, t.l2, t.budget.Epsilon, t.budget.Delta)
	say("method=%s variant=%s workers=%d", b.Method, b.Variant, b.Workers)
	if b.Float32 {
		say("fp32")
	}
	if len(p.Groups) > 0 {
		say("groups=%s", strings.ReplaceAll(fmt.Sprint(p.Groups), " ", "+"))
	}
	if t.sparse {
		say("sparse")
	}
	if t.persons > 0 {
		say("persons=%d", t.persons)
	}
	if t.levels != 2 {
		say("labels=%d", t.levels)
	}
	t.text = strings.Join(s, " ")
}

// set returns a copy of an algorithm whose options of these names have these values.
// Options that it lacks are left out, so that algorithms that do not exist yet are
// attacked with those of their options that others have too.
func set[A any](a A, values map[string]any) (changed A, text string) {
	v := reflect.New(reflect.TypeOf(a)).Elem()
	v.Set(reflect.ValueOf(a))
	var s []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		value, ok := values[name]
		if !ok || !reflect.TypeOf(value).ConvertibleTo(v.Field(i).Type()) {
			continue
		}
		v.Field(i).Set(reflect.ValueOf(value).Convert(v.Field(i).Type()))
		s = append(s, fmt.Sprintf("%s=%v", name, value))
	}
	return v.Interface().(A), strings.Join(s, " ")
}
