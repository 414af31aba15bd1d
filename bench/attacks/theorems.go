package main

import (
	"math"
	"math/rand/v2"

	"dyad/privacy"
)

// scale is a number over many magnitudes.
func scale(rng *rand.Rand) float64 { return math.Exp(6 * rng.NormFloat64()) }

// nothing is usually 0 and else a small part of a number.
func nothing(rng *rand.Rand, of float64) float64 {
	return pick(rng, 0, 0, 1e-16, 1e-9, 0.01) * of
}

// curvature draws the constants of an objective.
func curvature(rng *rand.Rand) privacy.Curvature {
	return privacy.Curvature{
		PairDiameter: scale(rng), Smoothness: pick(rng, 0, scale(rng)), StrongConvexity: pick(rng, 0, scale(rng), 1e-3),
		Convex: true, Diameter: pick(rng, math.Inf(1), scale(rng), scale(rng)),
	}
}

// longest is a step size up to the longest contractive one.
func longest(c privacy.Curvature, rng *rand.Rand) float64 {
	limit := 2 / (c.Smoothness + 2*c.StrongConvexity)
	if math.IsInf(limit, 1) {
		return scale(rng)
	}
	return limit * pick(rng, 1-1e-9, rng.Float64(), 0.5, 1e-6)
}

// factor is max(|1 - eta alpha|, |1 - eta (L + alpha)|).
func factor(c privacy.Curvature, eta float64) exact {
	one, step := num(1), num(eta)
	a := one.minus(step.times(num(c.StrongConvexity))).abs()
	b := one.minus(step.times(num(c.Smoothness).plus(num(c.StrongConvexity)))).abs()
	return a.atLeast(b)
}

// within caps a distance at the diameter.
func within(c privacy.Curvature, d exact) exact {
	if math.IsInf(c.Diameter, 1) {
		return d
	}
	return d.atMost(num(c.Diameter))
}

// descents is the largest delta_t of GradientDescent, and the mean of all of them.
func descents(g privacy.GradientDescent) (last, mean exact) {
	c := factor(g.Curvature, g.StepSize)
	move := num(g.PairFraction).times(num(g.PairDiameter)).times(num(g.StepSize)).plus(num(2).times(num(g.UpdateError)))
	delta, sum := num(0), num(0)
	for range g.Steps {
		delta = within(g.Curvature, c.times(delta).plus(move))
		sum = sum.plus(delta)
	}
	return delta, sum.over(num(float64(g.Steps)))
}

// twice is 2 rho_t, or 0 without errors.
func twice(errors []float64, t int) exact {
	if errors == nil {
		return num(0)
	}
	return num(2 * errors[t])
}

// recursion is max_k of S(k) of PairwiseRecursion, by the recursion for every record.
func recursion(r privacy.PairwiseRecursion) exact {
	n := len(r.Eta) - 1
	worst := num(0)
	for k := 1; k <= n; k++ {
		delta, sum := num(0), num(0)
		for t := 2; t <= n; t++ {
			if r.Eta[t] == 0 {
				delta = num(0)
				continue
			}
			rho := twice(r.UpdateError, t)
			step := num(r.PairDiameter).times(num(r.Eta[t]))
			switch {
			case t == k:
				delta = step.plus(rho)
			case t > k:
				delta = factor(r.Curvature, r.Eta[t]).times(delta).plus(step.over(num(float64(t - 1)))).plus(rho)
			}
			sum = sum.plus(delta)
		}
		if r.Average {
			delta = sum.over(num(float64(n)))
		}
		worst = worst.atLeast(delta)
	}
	worst = worst.plus(num(2 * r.OutputError))
	if math.IsInf(r.Diameter, 1) {
		return worst
	}
	return worst.atMost(num(r.Diameter).plus(num(2 * r.OutputError)))
}

// stream is the joint sensitivity of PairwiseStream, over every record k.
func streamTheorem(s privacy.PairwiseStream) exact {
	worst := num(0)
	updates := s.Updates()
	p := num(1)
	if s.PerClass {
		p = p.plus(num(1).atLeast(num(s.Lipschitz).over(num(s.PairDiameter))))
	}
	for k := 1; k <= s.Horizon; k++ {
		u, touched := make([]exact, updates+1), make([]bool, updates+1)
		for b := 1; b <= updates; b++ {
			u[b] = num(0)
			for t := s.BurnIn + (b-1)*s.Batch + 1; t <= s.BurnIn+b*s.Batch; t++ {
				partners := t - 1
				if s.Buffer > 0 {
					partners = min(partners, s.Buffer)
				}
				stays := s.Buffer == 0 || s.Reservoir || s.PerClass || t-k <= s.Buffer
				switch {
				case t == k:
					u[b], touched[b] = u[b].plus(num(1)), true
				case t > k && stays:
					u[b], touched[b] = u[b].plus(p.over(num(float64(partners)))), true
				}
			}
			u[b] = u[b].times(num(s.PairDiameter)).over(num(float64(s.Batch)))
			if s.Weights != nil {
				u[b] = u[b].times(num(s.Weights[b-1]))
			}
		}
		sum, first := num(0), false
		for b := 1; b <= updates; b++ {
			row := u[b]
			if first = first || touched[b]; s.Factor != nil {
				for from := 1; from < b; from++ {
					row = row.plus(coefficient(s.Factor, b-from).times(u[from]))
				}
			}
			if touched[b] || s.Factor != nil && first {
				row = row.plus(num(2 * s.Roundoff))
				sum = sum.plus(row.times(row))
			}
		}
		worst = worst.atLeast(sum)
	}
	return worst.root()
}

// coefficient is c_j of a Toeplitz factor, j >= 1.
func coefficient(f *privacy.ToeplitzFactor, j int) exact {
	sum := num(0)
	for i, w := range f.Weight {
		power := num(1)
		for range j - 1 {
			power = power.times(num(f.Decay[i]))
		}
		sum = sum.plus(num(w).times(power))
	}
	return sum
}

// outputs is the joint sensitivity of StreamOutputs for its scales.
func outputs(r privacy.StreamOutputs, scale []float64) exact {
	n := len(r.Eta) - 1
	worst := num(0)
	for k := 1; k <= n; k++ {
		delta, sum := num(0), num(0)
		for t := 2; t <= n; t++ {
			rho := twice(r.UpdateError, t)
			step := num(r.PairDiameter).times(num(r.Eta[t]))
			switch {
			case t == k:
				delta = within(r.Curvature, step.plus(rho))
			case t > k:
				delta = within(r.Curvature, factor(r.Curvature, r.Eta[t]).times(delta).plus(step.over(num(float64(t-1)))).plus(rho))
			}
			if t >= k {
				u := delta.plus(num(0x1p-52 * r.Radius)).over(num(scale[t]))
				sum = sum.plus(u.times(u))
			}
		}
		worst = worst.atLeast(sum)
	}
	return worst.root()
}

// convergent is mu sigma of hidden steps: the least of the bounds for every k.
func convergent(gap, c, diameter float64, steps int) exact {
	one, s, f := num(1), num(gap), num(c)
	bound := func(start exact, k int) exact {
		power, sum, squares := one, num(0), num(0)
		for range k {
			sum, squares = sum.plus(power), squares.plus(power.times(power))
			power = power.times(f)
		}
		top := power.times(start).plus(s.times(sum))
		return top.times(top).over(squares)
	}
	best := bound(num(0), steps)
	if !math.IsInf(diameter, 1) {
		for k := 1; k <= steps; k++ {
			best = best.atMost(bound(num(diameter), k))
		}
	}
	return best.root()
}
