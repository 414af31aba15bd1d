package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms/pairs"
)

// The drawn noise has the variance of the formula, and the staircase's density ratio
// over a shift of 1 is e^epsilon.
func TestBaselineMechanisms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 400_000
	for _, e := range []float64{0.01, 0.5, 2} {
		s, sum, bins := staircase{pairs.Staircase{Epsilon: e}}, 0.0, [4]float64{}
		for range draws {
			x := s.draw(r)
			sum += x * x
			if g := s.Gamma(); x >= 0 && x < g {
				bins[0]++
			} else if x >= 1 && x < 1+g {
				bins[1]++
			} else if x >= g && x < 1 {
				bins[2]++
			} else if x >= 1+g && x < 2 {
				bins[3]++
			}
		}
		if got := sum / draws; math.Abs(got/s.Variance()-1) > 0.03 {
			t.Errorf("staircase at %v: variance %v, want %v", e, got, s.Variance())
		}
		if e > 0.1 {
			for k := 0; k < 4; k += 2 {
				if ratio := math.Log(bins[k] / bins[k+1]); math.Abs(ratio-e) > 0.1*e+0.02 {
					t.Errorf("staircase at %v: log ratio %v", e, ratio)
				}
			}
		}
		m, mean := duchi{pairs.Duchi{Epsilon: e}}, 0.0
		for range draws {
			mean += m.draw(0.4, r) / draws
		}
		if math.Abs(mean-0.4) > 5*m.Size()/math.Sqrt(draws) {
			t.Errorf("Duchi at %v: mean %v of 0.4", e, mean)
		}
	}
}
