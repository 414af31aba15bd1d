package privacy

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

func lastIterate() LastIterate {
	return LastIterate{
		Curvature:    Curvature{PairDiameter: 4, Smoothness: 4, Convex: true, Diameter: 2},
		PairFraction: 2.0 / 256, Steps: 2560, StepSize: 0.5 * (1 - 0x1p-50), UpdateError: 1e-14, Coordinates: 8, Grid: 0x1p-30,
	}
}

// Figures from an independent computation: DPGDC2 with n = 256, T = 2560, delta = 1/256 and
// epsilon = 1 needs sigma 3.44 per gradient by composition and 1.54 with hidden
// iterates.
func TestLastIterateReproducesTheSpecification(t *testing.T) {
	for _, x := range []struct {
		n, steps          int
		delta, alpha      float64
		converged, inline float64
	}{
		{256, 2560, 1.0 / 256, 0, 1.5372, 3.4373}, {256, 25600, 1e-5, 0, 2.6380, 18.6532},
		{512, 51200, 1.0 / 512, 0, 1.1909, 8.4210}, {128, 128, 1e-5, 0, 2.6380, 2.6380},
		{256, 2560, 1.0 / 256, 1e-2, 1.2660, 3.4373},
	} {
		l := lastIterate()
		l.PairFraction, l.Steps, l.StrongConvexity = 2/float64(x.n), x.steps, x.alpha
		if x.alpha > 0 { // the reference takes eta = 1/2, which is a little too long
			l.Smoothness = 4 - 2*x.alpha
		}
		c := must.Get(l.Certify())(t)
		m := must.Get(CalibrateGaussian(c, Budget{Epsilon: 1, Delta: x.delta}, 1))(t)
		must.Near(t, (m.Sigma/l.StepSize)/x.converged, 1, 1e-4,
			"n = %d, T = %d, delta = %.3g, alpha = %v: sigma, want %.5g", x.n, x.steps, x.delta, x.alpha, x.converged)
		full := 2 * 4 / float64(x.n) * math.Sqrt(float64(x.steps)) / account.GDPMu(1, x.delta)
		must.Near(t, full/x.inline, 1, 1e-4, "n = %d, T = %d: composition %.5g, want %.5g", x.n, x.steps, full, x.inline)
		if m.Grid != l.Grid || m.Event(c).(account.ConvergentEvent).Steps != x.steps {
			t.Errorf("noise %+v with event %v", m, m.Event(c))
		}
	}
}

func TestLastIterateRefuses(t *testing.T) {
	change := map[string]func(*LastIterate){
		"non-convex":        func(l *LastIterate) { l.Convex = false },
		"not smooth":        func(l *LastIterate) { l.Smoothness = math.Inf(1) },
		"long step":         func(l *LastIterate) { l.StepSize = 0.5001 },
		"long with alpha":   func(l *LastIterate) { l.StrongConvexity = 0.01 },
		"un-quantised":      func(l *LastIterate) { l.Grid = 0 },
		"grid of a third":   func(l *LastIterate) { l.Grid = 1.0 / 3 },
		"no domain":         func(l *LastIterate) { l.Diameter = math.Inf(1) },
		"no steps":          func(l *LastIterate) { l.Steps = 0 },
		"no coordinates":    func(l *LastIterate) { l.Coordinates = 0 },
		"share":             func(l *LastIterate) { l.PairFraction = 1.5 },
		"negative error":    func(l *LastIterate) { l.UpdateError = -1 },
		"pair diameter":     func(l *LastIterate) { l.PairDiameter = math.NaN() },
		"negative step":     func(l *LastIterate) { l.StepSize = -0.1 },
		"infinite diameter": func(l *LastIterate) { l.Diameter = math.NaN() },
	}
	for name, f := range change {
		l := lastIterate()
		f(&l)
		must.Err(l.Certify())(t, "%s: certified", name)
	}
	l := lastIterate()
	c := must.Get(l.Certify())(t)
	// The grid, the roundoff and the last digits of the step size are paid for.
	if l.Grid, l.UpdateError = 0x1p-5, 1e-3; true {
		coarse, err := l.Certify()
		if err != nil || !(coarse.RoundoffShare() > 0.5) || coarse.ExactSensitivity() != c.ExactSensitivity() {
			t.Errorf("a coarse grid: %v, roundoff share %v", err, coarse.RoundoffShare())
		}
	}
	// No other noise has this certificate's theorem.
	must.Err(CalibratePure(c, 1, 8, KNormNoise))(t, "K-norm noise was calibrated to a joint certificate")
	must.Err(CalibrateGaussian(c, Budget{Epsilon: 1, Delta: 1e-5}, 2))(t, "two releases were calibrated to the certificate of one")
	must.Equal[account.Event](t, (Gaussian{Sigma: 1}).Event(c), account.NonPrivateEvent{}, "noise on another grid")
}

// A session makes T-1 hidden steps and one release, and nothing else.
func TestSessionOfHiddenSteps(t *testing.T) {
	l := lastIterate()
	l.Steps = 3
	c := must.Get(l.Certify())(t)
	m := must.Get(CalibrateGaussian(c, Budget{Epsilon: 1, Delta: 1e-5}, 1))(t)
	plan := []account.Event{m.Event(c)}
	session := func() *LiveSession {
		return must.Get(NewPublicSession(NewSeededSource(4), plan))(t)
	}
	x := []float64{0.1, math.Pi}
	s := session()
	for i := range 2 {
		must.Do(t, s.HiddenStep(x, c, m))
		for _, v := range x {
			if math.Mod(v, l.Grid) != 0 || v == 0 {
				t.Errorf("step %d: %v is off the grid", i, v)
			}
		}
	}
	y := []float64{1}
	wantRefused(t, "a hidden step instead of the last", y, s.HiddenStep(y, c, m), ErrUnplanned)
	if err := s.Release(x, c, m); err != nil || math.Mod(x[1], l.Grid) != 0 {
		t.Errorf("release: %v, %v", err, x)
	}
	wantRefused(t, "a second release", x, s.Release(x, c, m), ErrUnplanned)

	early := session()
	x = []float64{1}
	wantRefused(t, "an early release", x, early.Release(x, c, m), ErrUnplanned)
	x = []float64{1}
	wantRefused(t, "another grid", x, early.HiddenStep(x, c, Gaussian{Sigma: m.Sigma, Grid: 2 * m.Grid}), ErrUnplanned)
	x = []float64{1}
	wantRefused(t, "less noise", x, early.HiddenStep(x, c, Gaussian{Sigma: m.Sigma / 2, Grid: m.Grid}), ErrUnplanned)
	must.Err(NewPublicSession(NewSeededSource(1), []account.Event{plan[0], plan[0]}))(t, "a plan with one state twice was accepted")
	plain := testCertificate(t)
	g := Gaussian{Sigma: 1}
	s2 := must.Get(NewPublicSession(NewSeededSource(4), []account.Event{g.Event(plain)}))(t)
	x = []float64{1}
	wantRefused(t, "a hidden step of an ordinary release", x, s2.HiddenStep(x, plain, g), ErrUnplanned)
}

func testCertificate(t *testing.T) Certificate {
	t.Helper()
	return must.Get(MeanGradient{PairDiameter: 1, PairFraction: 0.5}.Certify())(t)
}

func TestConvergentEvent(t *testing.T) {
	e := account.ConvergentEvent{Gap: 0.01, Contraction: 1, Diameter: 2, Sigma: 0.3, Grid: 0x1p-30, Steps: 1000}
	var a account.GDP
	must.Do(t, a.Compose(e))
	must.Near(t, a.Mu()*0.3/account.ConvergentSensitivity(0.01, 1, 2, 1000), 1, 1e-14, "mu")
	if !strings.Contains(e.String(), "1000 hidden") {
		t.Error(e)
	}
	must.Equal[account.Event](t, account.Decode(must.Get(account.Encode(e))(t)), e, "read back")
	for _, bad := range []account.ConvergentEvent{{}, {Gap: 0.01, Contraction: 1.1, Diameter: 2, Sigma: 1, Grid: 1, Steps: 1}, {Gap: 0.01, Contraction: 1, Diameter: math.Inf(1), Sigma: 1, Grid: 1, Steps: 1}, {Gap: 0.01, Contraction: 1, Diameter: 1, Sigma: 1, Steps: 1}, {Gap: 0.01, Contraction: 1, Diameter: 1, Sigma: 1, Grid: 1}} {
		if err := a.Compose(bad); err == nil || errors.Is(err, account.ErrUnsupported) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A state off the grid, or a gap that does not pay for the grid, breaks the statement:
// two runs whose updates differ by next to nothing release different low digits for
// ever. On the grid the same two runs are the same.
func TestConvergenceNeedsTheGrid(t *testing.T) {
	// Two neighbours' maps on the line that differ by a gap far below the grid. Off the
	// grid the fraction of the state tells which map was used, with certainty.
	const grid, gap, steps = 0x1p-10, 0x1p-30, 50
	run := func(push float64, quantise bool, seed uint64) float64 {
		src := NewSeededSource(seed)
		x := []float64{0}
		for range steps {
			x[0] = max(-1, min(1, x[0])) + push
			if quantise {
				RoundToGrid(x, grid)
			}
			noise := []float64{0}
			must.Do(t, (Gaussian{Sigma: 0.5, Grid: grid}).add(noise, src))
			x[0] += noise[0]
		}
		return x[0]
	}
	told := 0
	for seed := range uint64(200) {
		if a := run(gap, false, seed); math.Mod(a, grid) != 0 {
			told++ // no run with push 0 is off the grid
		}
		if a, b := run(gap, true, seed), run(0, true, seed); a != b {
			t.Errorf("seed %d: on the grid %v and %v", seed, a, b)
		}
	}
	if mu := account.ConvergentSensitivity(gap, 1, 2, steps) / 0.5; told < 100 || account.GDPDelta(0, mu) > 1e-6 {
		t.Errorf("the control: %d of 200 runs off the grid told apart, where the theorem for exact noise says delta(0) <= %.3g", told, account.GDPDelta(0, mu))
	}
}
