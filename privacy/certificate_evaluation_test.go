package privacy_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// The certificate of sums over pairs of classes is the largest move of a case that attains it
// (docs/theory.md#class-pairs), and the count is as heavy as it can be.
func TestClassPairCertificateIsAttained(t *testing.T) {
	for _, n := range []int{2, 3, 17, 10_000, 1 << 26} {
		for _, levels := range []int{1, 1 << 16} {
			for _, manhattan := range []bool{false, true} {
				s := privacy.ClassPairSum{Records: n, Levels: levels, Counted: true, Manhattan: manhattan, Name: "sum"}
				c := must.Get(s.Certify())(t)
				reach := float64(levels) * float64(n-1)
				must.Equal(t, c.Sensitivity(), 2*reach, "n %d, levels %d: sensitivity", n, levels)
				norm := func(count float64) float64 {
					if manhattan {
						return reach + count
					}
					return math.Hypot(reach, count)
				}
				if k := s.CountWeight(); k != math.Floor(k) || norm(k) > 2*reach*(1+1e-15) || norm(k+1) <= 2*reach && norm(k*(1+1e-12)) <= 2*reach {
					t.Errorf("n %d, levels %d, L1 %v: a change of class moves %v with the count times %v, of %v", n, levels, manhattan, norm(k), k, 2*reach)
				}
			}
		}
	}
	for _, s := range []privacy.ClassPairSum{{Records: 1, Levels: 1}, {Records: 5}, {Records: 5, Levels: 1 << 30}, {Records: 5, Levels: 1, Error: -1}, {Records: 5, Levels: 1, Error: math.NaN()}} {
		if c, err := s.Certify(); err == nil {
			t.Errorf("%+v has the certificate %v", s, c.Sensitivity())
		}
	}
}

// Pure shares of certificates in the L1 norm are Laplace noise of the length of the vector, and
// meet the budget.
func TestSharesInTheL1NormAreLaplace(t *testing.T) {
	rank := must.Get(privacy.ClassPairSum{Records: 100, Levels: 1, Counted: true, Manhattan: true, Name: "sum"}.Certify())(t)
	cells := must.Get(privacy.CellCounts{Cells: 20, Manhattan: true, Name: "cells"}.Certify())(t)
	noise := must.Get(privacy.CalibrateShares([]privacy.Certificate{rank, cells}, []float64{0.7, 0.3}, privacy.Budget{Epsilon: 0.5}))(t)
	var total account.GDP
	for i, c := range []privacy.Certificate{rank, cells} {
		m, ok := noise[i].(privacy.Laplace)
		want := c.Sensitivity() / (0.5 * []float64{0.7, 0.3}[i])
		if !ok || m.Coordinates != []int{2, 20}[i] || math.Abs(m.Scale/want-1) > 1e-12 {
			t.Errorf("noise %v, want Laplace of scale %v", noise[i], want)
		}
		must.Do(t, total.Compose(noise[i].Event(c)))
	}
	if e := total.Epsilon(0); !(e <= 0.5 && e > 0.5-1e-9) {
		t.Errorf("the shares cost %v of 0.5", e)
	}
}
