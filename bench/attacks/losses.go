package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms/audit"
	"dyad/engine"
)

// candidate is a loss to attack with.
type candidate struct {
	name string
	loss engine.Loss
	// kinks are margins at which the slope is known to jump, for attacks that choose
	// records for a known w.
	kinks []float64
	// kinked is true for a loss that is here for its kinks. Algorithms for smooth losses are
	// not tried with it.
	kinked bool
	// ranges is how many of the ranges of margins it is tried with.
	ranges int
}

// formula is a loss by its text.
type formula struct {
	text  string
	clip  float64
	kinks []float64
}

// kinked are formulas whose slope jumps, through every function that the formulas have.
// At w = 0 all margins are 0, so that a kink there is met by every pair at once.
func kinked() []formula {
	at0 := []float64{0}
	return []formula{
		{text: "max(0.3, sigmoid(-u))", kinks: []float64{math.Log(7. / 3)}},
		{text: "max(0, 1 - log1p(exp(u)))", kinks: []float64{math.Log(math.E - 1)}},
		{text: "max(0, tanh(0.7 - u) - tanh(0.7))", kinks: at0},
		{text: "abs(tanh(1.3 - u) - tanh(1.3))", kinks: at0},
		{text: "max(0, exp(0.4 - u) - exp(0.4))", kinks: at0},
		{text: "max(0, log1p(exp(0.9 - u)) - log1p(exp(0.9)))", kinks: at0},
		{text: "max(0, softplus(1.7 - u) - softplus(1.7))", kinks: at0},
		{text: "max(0, log(3 - u) - log(3))", kinks: at0},
		{text: "max(0, sqrt(4 - u) - 2)", kinks: at0},
		{text: "max(0, sin(-u))", kinks: at0},
		{text: "min(sigmoid(-u), 0.5)", kinks: at0},
		{text: "where(sigmoid(u) > 0.5, 0, -u)", kinks: at0},
		{text: "max(0, -u) + 0.5*max(0, tanh(-u))", kinks: at0},
		{text: "abs(expm1(-u))", kinks: at0},
		{text: "max(softplus(-u), log(2))", kinks: at0},
		{text: "max(0, 0.5 - abs(sigmoid(u) - 0.5))"},
	}
}

// clipped are formulas whose slope is clipped, convex and not.
func clipped() []formula {
	return []formula{
		{text: "exp(-u)", clip: 0.75},
		{text: "(1 - u)^2", clip: 0.6},
		{text: "exp(-exp(2*u))", clip: 0.3},
		{text: "sin(3*u)", clip: 1.1},
		{text: "max(0, 1 - u)^2", clip: 0.5},
		{text: "log1p(exp(-2*u))", clip: 1},
		{text: "max(0, sigmoid(2.8 - u) - sigmoid(2.8))", clip: 0.03, kinks: []float64{0}},
	}
}

// series are losses with a kink at u = 0 through sigmoid, one for each m: which of them
// a rounding error of sigmoid turns over depends on m.
func series(values int) []formula {
	var all []formula
	for i := range values {
		m := 3 * float64(i+1) / float64(values)
		for _, text := range []string{"max(0, sigmoid(%[1]g - u) - sigmoid(%[1]g))",
			"abs(sigmoid(%[1]g - u) - sigmoid(%[1]g))"} {
			all = append(all, formula{text: fmt.Sprintf(text, m), kinks: []float64{0}})
		}
	}
	return all
}

// fuzzed draws formulas.
func fuzzed(count int, rng *rand.Rand) []formula {
	all := make([]formula, count)
	for i := range all {
		all[i] = formula{text: term(rng, 3), kinks: []float64{0}}
		if rng.IntN(3) == 0 {
			all[i].clip = number(rng)
		}
	}
	return all
}

func number(rng *rand.Rand) float64 { return float64(1+rng.IntN(30)) / 10 }

// term is a random formula whose depth is at most that.
func term(rng *rand.Rand, depth int) string {
	if depth == 0 {
		return [...]string{"u", "-u", fmt.Sprintf("(%g - u)", number(rng)), fmt.Sprintf("%g*u", number(rng))}[rng.IntN(4)]
	}
	a := func() string { return term(rng, depth-1) }
	switch rng.IntN(14) {
	case 0:
		return fmt.Sprintf("max(0, %s)", a())
	case 1:
		return fmt.Sprintf("abs(%s)", a())
	case 2:
		return fmt.Sprintf("sigmoid(%s)", a())
	case 3:
		return fmt.Sprintf("tanh(%s)", a())
	case 4:
		return fmt.Sprintf("softplus(%s)", a())
	case 5:
		return fmt.Sprintf("min(%g, %s)", number(rng), a())
	case 6:
		return fmt.Sprintf("(%s)*sigmoid(%s)", a(), a())
	case 7:
		return fmt.Sprintf("where(%s > %g, %s, %s)", a(), number(rng), a(), a())
	case 8:
		return fmt.Sprintf("max(%s, %s)", a(), a())
	case 9:
		return fmt.Sprintf("exp(-abs(%s))", a())
	case 10:
		return fmt.Sprintf("(%s)^2", a())
	case 11: // a kink at 0 through a smooth function
		f := [...]string{"sigmoid", "tanh", "softplus", "exp", "sin"}[rng.IntN(5)]
		m := number(rng)
		return fmt.Sprintf("max(0, %[1]s(%[2]g - u) - %[1]s(%[2]g))", f, m)
	case 12:
		return fmt.Sprintf("%s + %s", a(), a())
	}
	return fmt.Sprintf("sin(%s)", a())
}

// candidate is the pair loss of a formula: of a score, or of a distance.
func (f formula) candidate(metric bool) (candidate, error) {
	name := f.text
	if f.clip > 0 {
		name += fmt.Sprintf(" clipped to %g", f.clip)
	}
	e, err := engine.NewExpression("formula", f.text, engine.ExpressionOptions{Clip: f.clip})
	if err != nil {
		return candidate{}, fmt.Errorf("formula %s: %w", f.text, err)
	}
	return of(name, e, metric, f.kinks), nil
}

func of(name string, s engine.Scalar, metric bool, kinks []float64) candidate {
	if metric {
		return candidate{name: "metric: " + name, loss: engine.Metric{Of: s}, kinks: kinks}
	}
	return candidate{name: name, loss: engine.Score{Of: s}, kinks: kinks}
}

// library are all built-in losses with their default and with other parameters, the
// ones with kernels of their own, and the linear ones, which attain the certificates.
func library(metric bool) ([]candidate, error) {
	var all []candidate
	if metric {
		all = append(all, candidate{name: "metric: linear", loss: audit.LinearMetric{}},
			candidate{name: "metric: logistic kernel", loss: engine.MahalanobisLogistic{}})
	} else {
		all = append(all, candidate{name: "linear", loss: audit.Linear{}},
			candidate{name: "logistic kernel", loss: engine.Logistic{}})
	}
	for _, l := range engine.Library() {
		for _, factor := range []float64{1, 0.3} {
			params := maps.Clone(l.Params)
			for k := range params {
				params[k] *= factor
			}
			e, err := l.Expression(engine.ExpressionOptions{Params: params})
			if err != nil {
				return nil, err
			}
			if factor != 1 && len(params) == 0 {
				continue
			}
			name, kinks := l.Name, []float64{1}
			for _, k := range slices.Sorted(maps.Keys(params)) {
				kinks = append(kinks, params[k])
				name += fmt.Sprintf(" %s=%g", k, params[k])
			}
			all = append(all, of(name, e, metric, kinks))
		}
	}
	return all, nil
}

// losses returns all candidates: losses of the library, kinked, clipped and fuzzed ones, and
// so many values of each series.
func losses(metric bool, values, fuzz int, rng *rand.Rand) ([]candidate, error) {
	all, err := library(metric)
	if err != nil {
		return nil, err
	}
	if metric { // proofs take longer, and kinks are met by choice of W
		values, fuzz = values/6, fuzz/4
	}
	for i := range all {
		all[i].ranges = len(ranges)
	}
	for _, kind := range []struct {
		formulas []formula
		kinked   bool
		ranges   int
	}{{kinked(), true, 2}, {clipped(), false, 1}, {series(values), true, 1}, {fuzzed(fuzz, rng), false, 1}} {
		for _, f := range kind.formulas {
			c, err := f.candidate(metric)
			if err != nil {
				return nil, err
			}
			c.kinked, c.ranges = kind.kinked, kind.ranges
			all = append(all, c)
		}
	}
	return all, nil
}
