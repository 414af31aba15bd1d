package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/privacy"
	"dyad/privacy/account"
)

// recomputed draws the public numbers of a theorem and returns what it says, evaluated
// naively, and what is certified.
type recomputed struct {
	name string
	draw func(rng *rand.Rand) (naive exact, certified float64, err error)
}

// certified compares with the sensitivity of a certificate.
func certified(naive exact, certify func() (privacy.Certificate, error)) (exact, float64, error) {
	c, err := certify()
	return naive, c.Sensitivity(), err
}

// certificates are all constructors of certificates.
func certificates() []recomputed {
	descent := func(rng *rand.Rand) privacy.GradientDescent {
		c := curvature(rng)
		g := privacy.GradientDescent{Curvature: c, PairFraction: pick(rng, 1, 2./(2+float64(rng.IntN(1000)))),
			Steps: 1 + rng.IntN(60), StepSize: pick(rng, longest(c, rng), scale(rng))}
		g.UpdateError = nothing(rng, g.StepSize*g.PairDiameter)
		return g
	}
	steps := func(c privacy.Curvature, burnIn bool, rng *rand.Rand) (eta, errors []float64) {
		n := 2 + rng.IntN(24)
		eta = make([]float64, n+1)
		from := 2
		if burnIn {
			from += rng.IntN(n - 1)
		}
		errors = make([]float64, n+1)
		for t := from; t <= n; t++ {
			eta[t] = longest(c, rng)
			errors[t] = nothing(rng, eta[t]*c.PairDiameter)
		}
		return eta, errors
	}
	return []recomputed{
		{"GradientDescent", func(rng *rand.Rand) (exact, float64, error) {
			g := descent(rng)
			last, _ := descents(g)
			return certified(last, g.Certify)
		}},
		{"AverageDescent", func(rng *rand.Rand) (exact, float64, error) {
			g := privacy.AverageDescent{GradientDescent: descent(rng)}
			g.OutputError = nothing(rng, g.StepSize*g.PairDiameter)
			_, mean := descents(g.GradientDescent)
			return certified(mean.plus(num(2*g.OutputError)), g.Certify)
		}},
		{"PairwiseRecursion", func(rng *rand.Rand) (exact, float64, error) {
			r := privacy.PairwiseRecursion{Curvature: curvature(rng), Average: rng.IntN(2) == 0}
			r.Eta, r.UpdateError = steps(r.Curvature, true, rng)
			r.OutputError = nothing(rng, r.PairDiameter)
			return certified(recursion(r), r.Certify)
		}},
		{"PairwiseStream", func(rng *rand.Rand) (exact, float64, error) {
			s := drawStream(rng)
			return certified(streamTheorem(s), s.Certify)
		}},
		{"PairwiseStream with a Toeplitz factor", func(rng *rand.Rand) (exact, float64, error) {
			s := drawStream(rng)
			s.Weights = nil
			s.Horizon = max(s.Horizon, s.BurnIn+2*s.Batch)
			var err error
			if s.Factor, err = privacy.SquareRootToeplitz(max(2, s.Updates())); err != nil {
				return exact{}, 0, err
			}
			return certified(streamTheorem(s), s.Certify)
		}},
		{"StreamOutputs", func(rng *rand.Rand) (exact, float64, error) {
			r := privacy.StreamOutputs{Curvature: curvature(rng), Radius: scale(rng)}
			r.Eta, r.UpdateError = steps(r.Curvature, false, rng)
			c, scales, err := r.Certify()
			if err != nil {
				return exact{}, 0, err
			}
			return outputs(r, scales), c.Sensitivity(), nil
		}},
		{"MeanGradient", func(rng *rand.Rand) (exact, float64, error) {
			g := privacy.MeanGradient{PairDiameter: scale(rng), PairFraction: rng.Float64()}
			g.Error = nothing(rng, g.PairDiameter)
			return certified(num(g.PairDiameter).times(num(g.PairFraction)).plus(num(2*g.Error)), g.Certify)
		}},
		{"LastIterate", func(rng *rand.Rand) (exact, float64, error) {
			l := privacy.LastIterate{Curvature: curvature(rng), PairFraction: pick(rng, 1, rng.Float64()),
				Steps: 1 + rng.IntN(60), Coordinates: 1 + rng.IntN(9), Grid: math.Ldexp(1, -rng.IntN(60))}
			if math.IsInf(l.Diameter, 1) {
				l.Diameter = scale(rng)
			}
			l.StepSize = longest(l.Curvature, rng)
			l.UpdateError = nothing(rng, l.StepSize*l.PairDiameter)
			gap := num(l.PairFraction).times(num(l.PairDiameter)).times(num(l.StepSize)).plus(num(2 * l.UpdateError)).plus(num(2 * l.Grid).times(num(float64(l.Coordinates)).root()))
			g, _ := gap.v.Float64()
			f, _ := num(1).minus(num(l.StepSize).times(num(l.StrongConvexity))).v.Float64()
			return certified(convergent(g, max(f, 0), l.Diameter, l.Steps), l.Certify)
		}},
		{"ConvergentMu", func(rng *rand.Rand) (exact, float64, error) {
			gap, c, diameter, count := scale(rng), pick(rng, 0, 1, rng.Float64(), 1-1e-9*rng.Float64(), 1-0x1p-53),
				pick(rng, math.Inf(1), scale(rng)), 1+rng.IntN(100)
			sigma := scale(rng)
			return convergent(gap, c, diameter, count).over(num(sigma)),
				account.ConvergentSensitivity(gap, c, diameter, count) / sigma, nil
		}},
		{"PairGroup", func(rng *rand.Rand) (exact, float64, error) {
			g := privacy.PairGroup{Group: 1 + rng.IntN(50), Batch: 1 + rng.IntN(999), Batches: 1 + rng.IntN(60),
				Epochs: 1 + rng.IntN(40), TermNorm: scale(rng), Roundoff: pick(rng, 0, 1e-15, 1e-4)}
			epoch := num(2 * g.TermNorm).times(num(float64(g.Group))).over(num(float64(g.Batch))).plus(num(2 * g.Roundoff * float64(min(g.Group, g.Batches))))
			if rng.IntN(2) == 0 {
				return certified(epoch.times(num(float64(g.Epochs))), g.CertifyPure)
			}
			return certified(epoch.times(num(float64(g.Epochs)).root()), g.Certify)
		}},
		{"PairMoments", func(rng *rand.Rand) (exact, float64, error) {
			g := privacy.PairMoments{Group: 1 + rng.IntN(50), Radius: scale(rng), Count: rng.Float64()}
			g.Error = nothing(rng, g.Radius*g.Radius)
			square := num(g.Radius).times(num(g.Radius))
			term := num(2).times(square).times(square).plus(num(g.Count).times(num(g.Count))).root()
			return certified(num(float64(g.Group)).times(term).plus(num(2*g.Error)), g.Certify)
		}},
		{"PairSample", func(rng *rand.Rand) (exact, float64, error) {
			g := privacy.PairSample{Group: 1 + rng.IntN(8), Pairs: 1 + rng.IntN(999), Rate: 1 - rng.Float64(),
				Expected: 1 + 99*rng.Float64(), TermNorm: scale(rng), Roundoff: pick(rng, 0, 1e-15, 1e-4)}
			return certified(num(g.TermNorm).over(num(g.Expected)).plus(num(2*g.Roundoff)), g.Certify)
		}},
		{"TupleBatches", func(rng *rand.Rand) (exact, float64, error) {
			b := privacy.TupleBatches{Batch: 1 + rng.IntN(999), Batches: 1 + rng.IntN(60), Epochs: 1 + rng.IntN(40),
				Roundoff: pick(rng, 0, 1e-15, 1e-4)}
			epoch := num(2).over(num(float64(b.Batch))).plus(num(2 * b.Roundoff))
			if rng.IntN(2) == 0 {
				return certified(epoch.times(num(float64(b.Epochs))), b.CertifyPure)
			}
			return certified(epoch.times(num(float64(b.Epochs)).root()), b.Certify)
		}},
	}
}

// drawStream draws the public numbers of a stream.
func drawStream(rng *rand.Rand) privacy.PairwiseStream {
	s := privacy.PairwiseStream{PairDiameter: scale(rng), Batch: 1 + rng.IntN(7), BurnIn: 1 + rng.IntN(9),
		Buffer: pick(rng, 0, 1, 2, 6, 10, 40), Lipschitz: scale(rng)}
	s.Horizon = s.BurnIn + s.Batch*(1+rng.IntN(9)) + rng.IntN(s.Batch)
	switch rng.IntN(3) {
	case 0:
		s.Reservoir = s.Buffer > 0
	case 1:
		s.PerClass = s.Buffer > 1
	}
	s.Roundoff = nothing(rng, s.PairDiameter)
	if rng.IntN(3) == 0 {
		weight := scale(rng)
		for range s.Updates() {
			s.Weights = append(s.Weights, weight)
			weight *= pick(rng, 1, 1-rng.Float64())
		}
	}
	return s
}

// certificateJobs compare every kind of certificate with its theorem.
func certificateJobs(_ []candidate, round int) []job {
	var jobs []job
	for _, r := range append(certificates(), momentCertificates()...) {
		jobs = append(jobs, job{fmt.Sprintf("certificate|%s|%d", r.name, round), func(*rand.Rand) configuration {
			return configuration{
				area: "certificate", algorithm: r.name, options: "theorem evaluated in 300 bits over the certificate",
				plan: func() (hunt, error) { return r.attack(), nil },
			}
		}})
	}
	return jobs
}

// attack compares with random settings. Settings that are refused, such as those of a sensitivity that overflows,
// certify nothing.
func (r recomputed) attack() hunt {
	return each(20, func(_ context.Context, rng *rand.Rand) (attempt, error) {
		naive, certified, err := r.draw(rng)
		if err != nil {
			return attempt{}, fmt.Errorf("%w: %w", errRefused, err)
		}
		return attempt{ratio: naive.of(certified)}, nil
	})
}
