package privacy

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
)

// linear are the constants of the pair loss l(w; a, a') = (a + a') w with
// a in [-dg/2, dg/2]: replacing a moves every pair that contains it by dg.
func linear(dg, alpha float64) Curvature {
	return Curvature{PairDiameter: dg, StrongConvexity: alpha, Convex: true, Diameter: math.Inf(1)}
}

// onePassLinear runs the one-dimensional recursion on records a[1..n] and returns
// the last or the average iterate (iterates before the first step are 0).
func onePassLinear(a, eta []float64, alpha float64, average bool) float64 {
	n := len(a) - 1
	var w, sum float64
	prefix := a[1]
	for t := 2; t <= n; t++ {
		if eta[t] > 0 {
			w -= eta[t] * (a[t] + prefix/float64(t-1) + alpha*w)
		}
		prefix += a[t]
		sum += w
	}
	if average {
		return sum / float64(n)
	}
	return w
}

// docs/theory.md#pairwise-recursion: the linear loss with an L2 term attains the recursion.
func TestPairwiseRecursionIsAttainedByLinearLoss(t *testing.T) {
	const n, dg = 40, 3.0
	schedules := map[string]func(t int) float64{
		"constant": func(int) float64 { return 0.1 },
		"1/t":      func(t int) float64 { return 1 / float64(t) },
		"linear":   func(t int) float64 { return 0.01 * float64(t-1) },
		"burn-in": func(t int) float64 {
			if t <= 7 {
				return 0
			}
			return 0.2
		},
	}
	for name, schedule := range schedules {
		for _, alpha := range []float64{0, 0.5} {
			for _, average := range []bool{false, true} {
				eta := make([]float64, n+1)
				for k := 2; k <= n; k++ {
					eta[k] = schedule(k)
				}
				r := PairwiseRecursion{Curvature: linear(dg, alpha), Eta: eta, Average: average}
				influence := r.replaced(false)
				worst := 0.0
				for k := 1; k <= n; k++ {
					a := make([]float64, n+1)
					for i := range a {
						a[i] = dg / 2 * math.Cos(float64(i))
					}
					a[k] = dg / 2
					low := append([]float64(nil), a...)
					low[k] = -dg / 2
					moved := math.Abs(onePassLinear(a, eta, alpha, average) - onePassLinear(low, eta, alpha, average))
					must.AtMost(t, math.Abs(moved-influence[k]), 1e-10, "%s alpha=%g average=%v k=%d: moved %.12g, recursion %.12g", name, alpha, average, k, moved, influence[k])
					worst = max(worst, moved)
				}
				c := must.Get(r.Certify())(t)
				must.Within(t, c.Sensitivity(), worst, worst+1e-10, "%s alpha=%g average=%v", name, alpha, average)
			}
		}
	}
}

func TestGradientDescentIsAttainedByLinearLoss(t *testing.T) {
	const n, dg = 25, 2.0
	for _, alpha := range []float64{0, 0.3, 2} {
		for _, steps := range []int{1, 2, 17, 400} {
			eta := 0.25
			mean := func(a []float64) float64 { // of a_i + a_j over ordered pairs
				s := 0.0
				for _, v := range a {
					s += v
				}
				return 2 * s / float64(len(a))
			}
			descend := func(a []float64) float64 {
				w := 0.0
				for range steps {
					w -= eta * (mean(a) + alpha*w)
				}
				return w
			}
			a := make([]float64, n)
			a[3] = dg / 2
			high := descend(a)
			a[3] = -dg / 2
			moved := math.Abs(high - descend(a))
			c := must.Get(GradientDescent{Curvature: linear(dg, alpha), PairFraction: 2.0 / n, Steps: steps, StepSize: eta}.Certify())(t)
			must.Within(t, c.Sensitivity(), moved-1e-12, moved+1e-10, "alpha=%g T=%d: certificate, attained %.14g",
				alpha, steps, moved)
			if alpha > 0 {
				closed := 2 * dg / (alpha * n) * (1 - math.Pow(1-eta*alpha, float64(steps)))
				must.Near(t, closed, c.ExactSensitivity(), 1e-10, "alpha=%g T=%d", alpha, steps)
			}
		}
	}
}

// The update error enters on both sides of every step, and the certificate is
// capped by the diameter.
func TestCertificatesPayForRoundoffAndStopAtDiameter(t *testing.T) {
	base := GradientDescent{Curvature: linear(2, 0), PairFraction: 0.2, Steps: 5, StepSize: 0.1}
	clean, _ := base.Certify()
	base.UpdateError = 0.01
	dirty := must.Get(base.Certify())(t)
	must.Near(t, dirty.Sensitivity()-clean.Sensitivity(), 5*2*0.01, 1e-12, "five steps with update error 0.01 add")
	must.Equal(t, dirty.ExactSensitivity(), clean.ExactSensitivity(), "update error changed the exact sensitivity")
	base.Diameter = 0.05
	capped, _ := base.Certify()
	must.Equal(t, capped.Sensitivity(), 0.05, "Sensitivity")

	eta := []float64{0, 0, 0.1, 0.1, 0.1}
	pass := PairwiseRecursion{Curvature: linear(2, 0), Eta: eta}
	clean, _ = pass.Certify()
	pass.UpdateError = []float64{0, 0, 0.01, 0.01, 0.01}
	pass.OutputError = 0.005
	dirty = must.Get(pass.Certify())(t)
	// The worst record is 1 or 2, both present in all three steps.
	must.Near(t, dirty.Sensitivity()-clean.Sensitivity(), 3*2*0.01+2*0.005, 1e-12, "update and output errors add")
}

// The computed average may lie outside the domain by its own error, so the cap
// pays for it.
func TestAverageCapPaysForOutputError(t *testing.T) {
	c := linear(100, 0)
	c.Diameter = 1
	got, err := PairwiseRecursion{Curvature: c, Eta: []float64{0, 0, 1, 1}, Average: true, OutputError: 0.25}.Certify()
	if err != nil || got.Sensitivity() < 1.5 || got.Sensitivity() > 1.5+1e-9 || got.ExactSensitivity() != 1 {
		t.Errorf("certificate %v (exact %v, %v), want 1.5 and 1", got.Sensitivity(), got.ExactSensitivity(), err)
	}
}

func TestCertificatesRefuse(t *testing.T) {
	convex := linear(2, 0)
	bent := convex
	bent.Convex = false
	rough := convex
	rough.Smoothness = math.Inf(1)
	cases := map[string]func() (Certificate, error){
		"nonconvex":       GradientDescent{Curvature: bent, PairFraction: 0.2, Steps: 1, StepSize: 1}.Certify,
		"not smooth":      GradientDescent{Curvature: rough, PairFraction: 0.2, Steps: 1, StepSize: 1}.Certify,
		"share above 1":   GradientDescent{Curvature: convex, PairFraction: 2, Steps: 1, StepSize: 1}.Certify,
		"no step":         GradientDescent{Curvature: convex, PairFraction: 0.2, StepSize: 1}.Certify,
		"NaN step":        GradientDescent{Curvature: convex, PairFraction: 0.2, Steps: 1, StepSize: math.NaN()}.Certify,
		"negative error":  GradientDescent{Curvature: convex, PairFraction: 0.2, Steps: 1, StepSize: 1, UpdateError: -1}.Certify,
		"infinite error":  GradientDescent{Curvature: convex, PairFraction: 0.2, Steps: 1, StepSize: 1, UpdateError: math.Inf(1)}.Certify,
		"pass nonconvex":  PairwiseRecursion{Curvature: bent, Eta: []float64{0, 0, 1}}.Certify,
		"hole in steps":   PairwiseRecursion{Curvature: convex, Eta: []float64{0, 0, 1, 0, 1}}.Certify,
		"too few errors":  PairwiseRecursion{Curvature: convex, Eta: []float64{0, 0, 1}, UpdateError: []float64{0}}.Certify,
		"no steps at all": PairwiseRecursion{Curvature: convex, Eta: []float64{0, 0, 0, 0}}.Certify,
	}
	for name, certify := range cases {
		if c, err := certify(); err == nil || !c.IsZero() {
			t.Errorf("%s: got certificate %v, error %v; want a refusal", name, c.Sensitivity(), err)
		} else if !strings.HasPrefix(err.Error(), "privacy: ") {
			t.Errorf("%s: error %q lacks the package's prefix", name, err)
		}
	}
}
