package bench_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// TestWithoutReplacementGap measures how far the accountant of secret batches without replacement may be from the truth
// (docs/theory.md#without-replacement). epsilon is what the accountant prints. add_remove and triangle are two strategies of an
// adversary: the record moves every query and its replacement none; record, replacement and the rest are the corners of an equilateral
// triangle. The first is computed by the accountant, the second numerically on a grid, to about 1e-3 relative. gap is epsilon over the
// larger one, less 1: below 0 by more than that error, the accountant would be wrong.
func TestWithoutReplacementGap(t *testing.T) {
	const delta, records = 1e-6, 1000
	c := claim{file: "without-replacement.csv", columns: "sensitivity_over_sigma,rate,steps,delta,epsilon,add_remove,triangle,gap", keys: 4}
	for _, m := range []float64{0.1, 0.25, 0.5, 1} {
		for _, batch := range []int{10, 100, 500} {
			for _, steps := range []int{1, 10, 100, 1000} {
				q := float64(batch) / records
				c.lines = append(c.lines, claimed{fmt.Sprintf("%g,%g,%d,%g", m, q, steps, delta), m == 0.5 && batch == 100, func(t *testing.T) []float64 {
					noise := account.GaussianEvent{Sensitivity: m, Sigma: 1}
					epsilon := worst(t, account.Repeat(account.WithoutReplacementEvent{Event: noise, Batch: batch, Records: records}, steps), delta)
					removed := worst(t, account.Repeat(account.PoissonEvent{Event: noise, Rate: q, Relation: account.AddRemove}, steps), delta)
					triangle := equilateral(m, q, steps, delta)
					gap := epsilon/max(removed, triangle) - 1
					if gap < -2e-3 {
						t.Errorf("epsilon %v is below what an adversary reaches, %v and %v", epsilon, removed, triangle)
					}
					return []float64{epsilon, removed, triangle, gap}
				}})
			}
		}
	}
	c.check(t, 1e-3, 1e-4)
}

func worst(t *testing.T, e account.Event, delta float64) float64 {
	a := &account.PLD{}
	must.Do(t, a.Compose(e))
	return a.Epsilon(delta)
}

// equilateral is the epsilon of steps releases of P = (1-q) N(0, I) + q N(b, I) against Q, the
// same with b', where 0, b and b' are the corners of a triangle with sides m.
func equilateral(m, q float64, steps int, delta float64) float64 {
	const (
		size = 1 << 18
		cell = 0.02 // of the plane
	)
	loss := func(x, y float64) (p, l float64) {
		at := func(bx, by float64) float64 { return math.Exp(bx*x + by*y - m*m/2) }
		f := math.Exp(-(x*x+y*y)/2) / (2 * math.Pi)
		mixP, mixQ := 1-q+q*at(m, 0), 1-q+q*at(m/2, m*math.Sqrt(3)/2)
		return f * mixP, math.Log(mixP / mixQ)
	}
	var mean, square float64
	plane := func(visit func(p, l float64)) {
		for x := -8.0; x < 8+m; x += cell {
			for y := -8.0; y < 8+m; y += cell {
				p, l := loss(x, y)
				visit(p*cell*cell, l)
			}
		}
	}
	var most float64
	plane(func(p, l float64) {
		mean, square = mean+p*l, square+p*l*l
		if p > 1e-18 {
			most = max(most, math.Abs(l))
		}
	})
	// The window holds the sum far into its tails: the mean, nine deviations, a few of the largest losses.
	reach := math.Abs(mean)*float64(steps) + 9*math.Sqrt(square*float64(steps)) + 2*most
	h := 2 * reach / size
	grid := make([]complex128, size)
	plane(func(p, l float64) {
		k := l / h
		lower := math.Floor(k)
		put := func(k, p float64) { grid[(int(k)%size+size)%size] += complex(p, 0) }
		put(lower, p*(1-(k-lower)))
		put(lower+1, p*(k-lower))
	})
	fft := fourier.NewCmplxFFT(size)
	c := fft.Coefficients(nil, grid)
	for i, v := range c {
		c[i] = cmplx.Pow(v, complex(float64(steps), 0))
	}
	sum := fft.Sequence(grid, c)
	spent := func(epsilon float64) (d float64) {
		for i, v := range sum {
			l := float64(i)
			if i > size/2 {
				l -= size
			}
			if l *= h; l > epsilon {
				d += real(v) / size * -math.Expm1(epsilon-l)
			}
		}
		return d
	}
	lo, hi := 0.0, reach
	for range 50 {
		if mid := (lo + hi) / 2; spent(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
