package main

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// mixture is a law on the line: noise of scale 1 around points with weights.
type mixture struct {
	weights, centres []float64
	laplace          bool
}

// between is P(x < X <= y), with a small relative error in both tails.
func (m mixture) between(x, y float64) float64 {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	if m.laplace {
		tail = func(x float64) float64 { return math.Exp(-x) / 2 } // for x >= 0
	}
	sum := 0.0
	for i, w := range m.weights {
		a, b := x-m.centres[i], y-m.centres[i]
		switch {
		case a >= 0:
			sum += w * (tail(a) - tail(b))
		case b <= 0:
			sum += w * (tail(-b) - tail(-a))
		default:
			sum += w * (1 - tail(-a) - tail(b))
		}
	}
	return sum
}

// outcomes are two laws on the same finite set.
type outcomes struct{ p, q []float64 }

// binned are two mixtures seen through bins: post-processing, so that what is told apart
// after it was told apart before.
func binned(p, q mixture) outcomes {
	const width = 1. / 256
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, m := range []mixture{p, q} {
		for _, c := range m.centres {
			lo, hi = min(lo, c), max(hi, c)
		}
	}
	reach := 9.0
	if p.laplace {
		reach = 30
	}
	lo, hi = lo-reach, hi+reach
	bins := int((hi - lo) / width)
	var o outcomes
	edge := math.Inf(-1)
	for i := 0; i <= bins+1; i++ {
		next := lo + float64(i)*width
		if i > bins {
			next = math.Inf(1)
		}
		o.p, o.q = append(o.p, p.between(edge, next)), append(o.q, q.between(edge, next))
		edge = next
	}
	return o
}

// divergence is a lower bound of the hockey-stick divergence of order e^epsilon of the
// law of count draws of p from that of as many of q, for every epsilon >= 0: the least
// delta with which the first can be (epsilon, delta)-close to the second.
//
// Losses log(p/q) are rounded down to a lattice, which lowers the divergence, as do the
// loss of those below -cut and the cut of those above cut. Sums of losses below -W, W the
// half of the lattice, would come out at the other end: they have probability at most
// e^-W < 1e-26, as E[e^-L] <= 1. Roundings of the bins and the transforms are below 1e-12
// in all, which is taken off.
func divergence(o outcomes, count int) func(epsilon float64) float64 {
	const cut = 40.0
	if count == 1 {
		return func(epsilon float64) float64 {
			e, sum := math.Exp(epsilon), 0.0
			for i, p := range o.p {
				sum += max(0, p-e*o.q[i])
			}
			return max(0, sum*(1-1e-9)-1e-12)
		}
	}
	var mean, square float64
	for i, p := range o.p {
		if p > 0 {
			l := max(-cut, min(cut, math.Log(p/o.q[i])))
			mean, square = mean+p*l, square+p*l*l
		}
	}
	t := float64(count)
	const size = 1 << 19
	half := 62 + t*math.Abs(mean) + 10*math.Sqrt(t*square)
	step := 2 * half / size
	mass := make([]float64, size)
	for i, p := range o.p {
		if p <= 0 {
			continue
		}
		l := cut
		if o.q[i] > 0 {
			l = min(cut, math.Log(p/o.q[i]))
		}
		if l > -cut {
			at := int(math.Floor(l/step - 1e-9))
			mass[(at+size)%size] += p
		}
	}
	f := fourier.NewFFT(size)
	c := f.Coefficients(nil, mass)
	for i, v := range c {
		c[i] = power(v, count)
	}
	mass = f.Sequence(mass, c)
	return func(epsilon float64) float64 {
		sum := 0.0
		for i := range size / 2 {
			if l := float64(i) * step; l > epsilon {
				sum += mass[i] / size * -math.Expm1(epsilon-l)
			}
		}
		return max(0, sum*(1-1e-9)-1e-12)
	}
}

// power is v^n.
func power(v complex128, n int) complex128 {
	out := complex(1, 0)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out *= v
		}
		v *= v
	}
	return out
}
