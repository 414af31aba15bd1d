package autodiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// specialLosses use atan, erf and normcdf, with the derivative by hand.
var specialLosses = map[string]func(u float64) float64{
	"atan(-u)":    func(u float64) float64 { return -1 / (1 + u*u) },
	"1 - erf(u)":  func(u float64) float64 { return -2 / math.Sqrt(math.Pi) * math.Exp(-u*u) },
	"normcdf(-u)": func(u float64) float64 { return -math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) },
	"-log(normcdf(u))": func(u float64) float64 {
		return -2 * math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) / math.Erfc(-u/math.Sqrt2)
	},
	"u*atan(u) - log1p(u^2)/2":              math.Atan,
	"u*erf(u) + exp(-u^2)/sqrt(pi)":         math.Erf,
	"u*normcdf(u) + exp(-u^2/2)/sqrt(2*pi)": func(u float64) float64 { return math.Erfc(-u/math.Sqrt2) / 2 },
	"(2*atan(u) - 1)^2":                     func(u float64) float64 { return 4 * (2*math.Atan(u) - 1) / (1 + u*u) },
}

// TestSpecialFunctions: value, derivative, printing, and programs whose values do not
// depend on their neighbours and are within Roundoff of exact ones.
func TestSpecialFunctions(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	on := Interval{-6, 6}
	for text, slope := range specialLosses {
		f := NewFunction(parsed(t, text))
		must.CheckDo(t, f.Check(on.Lo, on.Hi), text)
		if again := parsed(t, f.Phi.String()); again.String() != f.Phi.String() {
			t.Errorf("%s is printed as %v, which is %v", text, f.Phi, again)
		}
		evaluatedAlone(t, rng, f.DPhi, 130, 130)
		program := f.DPhi.Compile()
		bound := program.Roundoff(on)
		if !(bound < 1e-9) {
			t.Errorf("%s: rounding error %v", text, bound)
		}
		u := make([]float64, 130)
		for i := range u {
			u[i] = on.random(rng)
		}
		all := make([]float64, len(u))
		program.Eval(all, u, nil)
		for i, x := range u {
			if want := slope(x); math.Abs(all[i]-want) > 1e-9*math.Max(1, math.Abs(want)) {
				t.Errorf("%s: phi'(%v) = %v, by hand %v", text, x, all[i], want)
			}
			exact := bigEval(f.DPhi, x)
			if off, _ := bigSub(bigOf(all[i]), exact).Float64(); math.Abs(off) > bound {
				t.Errorf("%s: phi'(%v) is off by %v, bound %v", text, x, off, bound)
			}
		}
	}
	for text, want := range map[string]string{
		"erf()": "erf(x)", "arctan(u)": "did you mean atan", "ndtr(u)": "did you mean normcdf", "normcdf": "write normcdf(x)",
	} {
		must.Fail(Parse(text, nil))(t, want, text)
	}
}

// TestSpecialPTX: a slope in which these functions remain has no code for GPUs with a
// proved error, so that a backend refuses it; atan, erf and normcdf themselves have, as
// their slopes are of other functions.
func TestSpecialPTX(t *testing.T) {
	on := Interval{-3, 3}
	for text, refused := range map[string]bool{
		"atan(u)": false, "erf(u)": false, "normcdf(u)": false,
		"-log(normcdf(u))": true, "-lognormcdf(2*u)": true, "hazard(-u)": true, "u*atan(u) - log1p(u^2)/2": true, "u*erf(u)": true,
	} {
		d := parsed(t, text).Derivative()
		if bound := d.PTXRoundoff(on); math.IsInf(bound, 1) != refused {
			t.Errorf("%s: error %v", text, bound)
		}
		if lines, _, _ := d.PTX("in", "out"); len(lines) == 0 {
			t.Errorf("%s: no code", text)
		}
	}
}

// TestProbit: the loss is smooth, convex and tight on ranges where the distribution function
// underflows.
func TestProbit(t *testing.T) {
	f := NewFunction(parsed(t, "-log(normcdf(u))"))
	for _, reach := range []float64{1, 8, 20, 40, 1000} {
		on := Interval{-reach, reach}
		must.CheckDo(t, f.Check(on.Lo, on.Hi), on)
		p := f.Prove(on)
		h := hazard(-reach) // phi' falls from there, and phi" from h (h - reach)
		if want := h * (h - reach); !p.Convex || !(p.Slope.Abs() <= h*1.0001) || !(p.Slope.Abs() >= h*(1-1e-12)) || !(p.Smoothness <= 1.001*want+1e-9) || p.Smoothness > 1 || p.Smoothness < want*(1-1e-6) {
			t.Errorf("%v: %+v, slope %v, curvature %v", on, p, h, want)
		}
		must.Within(t, f.DPhi.Compile().Roundoff(on), 0, 1e-13*reach, "%v: rounding error", on)
	}
	must.Near(t, f.Phi.Eval(-1000), 500007.8, 0.1, "phi(-1000)")
}
