package autodiff_test

import (
	"math"
	"strings"
	"testing"

	"dyad/autodiff"
	"dyad/internal/must"
)

// Range is the range that Prove finds, and contains the values in every case.
func TestRange(t *testing.T) {
	on := autodiff.Interval{Lo: -5, Hi: 5}
	for _, text := range []string{"u", "log1p(exp(-u))", "max(0, 1-u)", "tanh(u)^2", "exp(-u*u)", "sqrt(1+u^2)", "abs(u) - abs(u-1)", "sin(3*u)/(2+cos(u))", "where(u > 1, u^2, 2*u-1)", "log(u)"} {
		e := must.Get(autodiff.Parse(text, nil))(t)
		d := e.Derivative()
		if got, want := d.Range(on), d.Prove(on).Slope; got != want {
			t.Errorf("%s: range %v, Prove has %v", text, got, want)
		}
	}
	hard := must.Get(autodiff.Parse(strings.Repeat("abs(sin(1e5*u))+", 20)+"sin(9e6*u)*u", nil))(t)
	r := hard.Range(on)
	for i := range 10_000 {
		if v := hard.Eval(-5 + float64(i)/1000); !r.Contains(v) {
			t.Fatalf("%v is outside of %v", v, r)
		}
	}
	for _, bad := range []autodiff.Interval{{Lo: 1, Hi: -1}, {Lo: 0, Hi: math.Inf(1)}} {
		if r := hard.Range(bad); r.Abs() < 1e308 {
			t.Errorf("on %v: %v", bad, r)
		}
	}
}
