package privacy

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// convergentByHand minimises the sum of a_t^2 over the sequences of the proof at
// ConvergentEvent, each built step by step and checked to be one.
func convergentByHand(t *testing.T, gap, c, diameter float64, steps int) float64 {
	t.Helper()
	best := math.Inf(1)
	for k := 1; k <= steps; k++ {
		for _, start := range []float64{diameter, 0} {
			if start == 0 && k < steps {
				continue // the runs are together at the start only
			}
			reach, squares := start, 0.0 // without noise, and of c^(k-i)
			for i := 1; i <= k; i++ {
				reach = c*reach + gap
				squares = c*c*squares + 1
			}
			z, sum := start, 0.0
			for i := 1; i <= k; i++ {
				a := math.Pow(c, float64(k-i)) * reach / squares
				z = c*z + gap - a
				sum += a * a
				if z < -1e-9*(diameter+gap) {
					t.Fatalf("c = %v, k = %d: the distance of step %d is %v", c, k, i, z)
				}
			}
			if math.Abs(z) > 1e-9*(diameter+gap) {
				t.Fatalf("c = %v, k = %d: the last distance is %v", c, k, z)
			}
			best = min(best, sum)
		}
	}
	return math.Sqrt(best)
}

// The closed form is the best sequence of the proof, and never below it.
func TestConvergentMuIsTheBestSequence(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic on one goroutine")
	}
	for _, c := range []float64{1, 1 - 1e-9, 0.9999, 0.99, 0.9, 0.5, 0.01, 0} {
		for _, gap := range []float64{1e-4, 0.03, 1, 40} {
			for _, steps := range []int{1, 2, 3, 7, 60, 400} {
				const d = 2
				got, want := ConvergentMu(gap, c, d, steps, 1), convergentByHand(t, gap, c, d, steps)
				if got < want*(1-1e-9) || got > want*(1+1e-9) { // the sums lose digits
					t.Errorf("c = %v, gap = %v, T = %d: %.15g, by hand %.15g", c, gap, steps, got, want)
				}
			}
		}
	}
}

// T12, first part: for a quadratic loss without a constraint the law is known. The last
// states differ by s (1-c^T)/(1-c) and have variance sigma^2 (1-c^2T)/(1-c^2).
func TestConvergentMuOfQuadratics(t *testing.T) {
	for _, x := range []struct {
		c     float64
		steps int
		want  float64 // reference/05b
	}{{0.9, 5, 2.211788}, {0.9, 200, 4.358899}, {0.99, 50, 6.998153}, {0.999, 3000, 42.540126}} {
		gap, variance := 0.0, 0.0
		for range x.steps {
			gap, variance = x.c*gap+1, x.c*x.c*variance+1
		}
		exact := gap / math.Sqrt(variance)
		got := ConvergentMu(1, x.c, math.Inf(1), x.steps, 1)
		if got < exact*(1-1e-12) || got > exact*(1+1e-11) || math.Abs(got-x.want) > 1e-6 {
			t.Errorf("c = %v, T = %d: mu %.15g, exact %.15g, reference %v", x.c, x.steps, got, exact, x.want)
		}
		// The control: without the noise of the first step it would be too small.
		if short := ConvergentMu(1, x.c, math.Inf(1), x.steps, math.Sqrt(variance/(variance-1))); x.steps == 5 && short >= exact {
			t.Errorf("the comparison cannot fail: %v", short)
		}
	}
}

// T12, second part: the exact law of the last state of noisy projected descent on
// [-1, 1] with linear losses, by the powers of its transition matrix. The instances and
// the bounds are those of reference/05c.
func TestConvergentMuCoversTheExactLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic on one goroutine")
	}
	for _, x := range []struct {
		eta, sigma float64
		steps      int
		mu         float64
	}{{0.25, 1, 40, 1.5811}, {0.25, 1, 400, 2.8284}, {0.25, 2, 400, 1.4142}, {0.5, 1, 400, 2}} {
		const delta = 0.25 // gradient gap
		mu := ConvergentMu(x.eta*delta, 1, 2, x.steps, x.eta*x.sigma)
		if math.Abs(mu-x.mu) > 1e-4 {
			t.Errorf("eta %v, sigma %v, T %d: mu %.6g, reference %v", x.eta, x.sigma, x.steps, mu, x.mu)
		}
		p := lastState(x.eta*delta/2, x.eta*x.sigma, x.steps)
		q := lastState(-x.eta*delta/2, x.eta*x.sigma, x.steps)
		for _, epsilon := range []float64{0, 0.5, 1, 2} {
			exact := 0.0
			for i := range p {
				exact += max(0, p[i]-math.Exp(epsilon)*q[i])
			}
			if bound := GDPDelta(epsilon, mu); exact > bound {
				t.Errorf("eta %v, sigma %v, T %d, epsilon %v: delta %.6g, bound %.6g", x.eta, x.sigma, x.steps, epsilon, exact, bound)
			} else if epsilon == 0 && exact < bound/6 {
				t.Errorf("eta %v: exact %.3g is nowhere near the bound %.3g: the attack is too weak", x.eta, exact, bound)
			}
			if half := GDPDelta(epsilon, mu/4); epsilon == 0 && exact <= half {
				t.Errorf("the control, a quarter of mu, is not refuted: %v <= %v", exact, half)
			}
		}
	}
}

// lastState is the law of x_T, x_t = clip(x_{t-1} - move + N(0, sigma^2)), x_0 = 0, on
// cells of [-1, 1]. The noise reaches so few cells at the sizes used that rows are cut
// where they are below 1e-18.
func lastState(move, sigma float64, steps int) []float64 {
	const n = 201
	cell := 2.0 / (n - 1)
	below := func(edge, mean float64) float64 { return 0.5 * math.Erfc((mean-edge)/(sigma*math.Sqrt2)) }
	var m [n][n]float64
	for i := range n {
		mean := -1 + float64(i)*cell - move
		last := 0.0
		for j := range n {
			next := 1.0
			if j < n-1 {
				next = below(-1+(float64(j)+0.5)*cell, mean)
			}
			m[i][j] = next - last
			last = next
		}
	}
	p := make([]float64, n)
	p[n/2] = 1
	for range steps {
		q := make([]float64, n)
		for i, v := range p {
			for j := range q {
				q[j] += v * m[i][j]
			}
		}
		p = q
	}
	return p
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
			if err := (Gaussian{Sigma: 0.5, Grid: grid}).add(noise, src); err != nil {
				t.Fatal(err)
			}
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
	if mu := ConvergentMu(gap, 1, 2, steps, 0.5); told < 100 || GDPDelta(0, mu) > 1e-6 {
		t.Errorf("the control: %d of 200 runs off the grid told apart, where the theorem for exact noise says delta(0) <= %.3g", told, GDPDelta(0, mu))
	}
}

func lastIterate() LastIterate {
	return LastIterate{
		Curvature: Curvature{PairDiameter: 4, Smoothness: 4, Convex: true, Diameter: 2},
		Share:     2.0 / 256, Steps: 2560, StepSize: 0.5 * (1 - 0x1p-50), UpdateError: 1e-14, Coordinates: 8, Grid: 0x1p-30,
	}
}

// The figures of privacy.md 7.5: DPGDC2 with n = 256, T = 2560, delta = 1/256 and
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
		l.Share, l.Steps, l.StrongConvexity = 2/float64(x.n), x.steps, x.alpha
		if x.alpha > 0 { // the reference takes eta = 1/2, which is a little too long
			l.Smoothness = 4 - 2*x.alpha
		}
		c, err := l.Certify()
		if err != nil {
			t.Fatal(err)
		}
		m, err := CalibrateGaussian(c, Budget{Epsilon: 1, Delta: x.delta}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Sigma / l.StepSize; math.Abs(got/x.converged-1) > 1e-4 {
			t.Errorf("n = %d, T = %d, delta = %.3g, alpha = %v: sigma %.5g, want %.5g", x.n, x.steps, x.delta, x.alpha, got, x.converged)
		}
		full := 2 * 4 / float64(x.n) * math.Sqrt(float64(x.steps)) / GDPMu(1, x.delta)
		if math.Abs(full/x.inline-1) > 1e-4 {
			t.Errorf("n = %d, T = %d: composition %.5g, want %.5g", x.n, x.steps, full, x.inline)
		}
		if m.Grid != l.Grid || m.Event(c).(ConvergentEvent).Steps != x.steps {
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
		"share":             func(l *LastIterate) { l.Share = 1.5 },
		"negative error":    func(l *LastIterate) { l.UpdateError = -1 },
		"pair diameter":     func(l *LastIterate) { l.PairDiameter = math.NaN() },
		"negative step":     func(l *LastIterate) { l.StepSize = -0.1 },
		"infinite diameter": func(l *LastIterate) { l.Diameter = math.NaN() },
	}
	for name, f := range change {
		l := lastIterate()
		f(&l)
		if _, err := l.Certify(); err == nil {
			t.Errorf("%s: certified", name)
		}
	}
	l := lastIterate()
	c, err := l.Certify()
	if err != nil {
		t.Fatal(err)
	}
	// The grid, the roundoff and the last digits of the step size are paid for.
	if l.Grid, l.UpdateError = 0x1p-5, 1e-3; true {
		coarse, err := l.Certify()
		if err != nil || !(coarse.RoundoffShare() > 0.5) || coarse.ExactSensitivity() != c.ExactSensitivity() {
			t.Errorf("a coarse grid: %v, roundoff share %v", err, coarse.RoundoffShare())
		}
	}
	// No other noise has this certificate's theorem.
	if _, err := CalibratePure(c, 1, 8, KNormNoise); err == nil {
		t.Error("K-norm noise was calibrated to a joint certificate")
	}
	if _, err := CalibrateGaussian(c, Budget{Epsilon: 1, Delta: 1e-5}, 2); err == nil {
		t.Error("two releases were calibrated to the certificate of one")
	}
	if e := (Gaussian{Sigma: 1}).Event(c); e != (NonPrivateEvent{}) {
		t.Errorf("noise on another grid: %v", e)
	}
}

// A session makes T-1 hidden steps and one release, and nothing else.
func TestSessionOfHiddenSteps(t *testing.T) {
	l := lastIterate()
	l.Steps = 3
	c, err := l.Certify()
	if err != nil {
		t.Fatal(err)
	}
	m, err := CalibrateGaussian(c, Budget{Epsilon: 1, Delta: 1e-5}, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan := []Event{m.Event(c)}
	session := func() *LiveSession {
		s, err := NewPublicSession(NewSeededSource(4), plan)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	x := []float64{0.1, math.Pi}
	s := session()
	for i := range 2 {
		if err := s.Perturb(x, c, m); err != nil {
			t.Fatal(err)
		}
		for _, v := range x {
			if math.Mod(v, l.Grid) != 0 || v == 0 {
				t.Errorf("step %d: %v is off the grid", i, v)
			}
		}
	}
	y := []float64{1}
	wantRefused(t, "a hidden step instead of the last", y, s.Perturb(y, c, m), ErrUnplanned)
	if err := s.Release(x, c, m); err != nil || math.Mod(x[1], l.Grid) != 0 {
		t.Errorf("release: %v, %v", err, x)
	}
	wantRefused(t, "a second release", x, s.Release(x, c, m), ErrUnplanned)

	early := session()
	x = []float64{1}
	wantRefused(t, "an early release", x, early.Release(x, c, m), ErrUnplanned)
	x = []float64{1}
	wantRefused(t, "another grid", x, early.Perturb(x, c, Gaussian{Sigma: m.Sigma, Grid: 2 * m.Grid}), ErrUnplanned)
	x = []float64{1}
	wantRefused(t, "less noise", x, early.Perturb(x, c, Gaussian{Sigma: m.Sigma / 2, Grid: m.Grid}), ErrUnplanned)
	if _, err := NewPublicSession(NewSeededSource(1), []Event{plan[0], plan[0]}); err == nil {
		t.Error("a plan with one state twice was accepted")
	}
	plain := testCertificate(t)
	g := Gaussian{Sigma: 1}
	s2, err := NewPublicSession(NewSeededSource(4), []Event{g.Event(plain)})
	if err != nil {
		t.Fatal(err)
	}
	x = []float64{1}
	wantRefused(t, "a hidden step of an ordinary release", x, s2.Perturb(x, plain, g), ErrUnplanned)
}

func testCertificate(t *testing.T) Certificate {
	t.Helper()
	c, err := MeanGradient{PairDiameter: 1, Share: 0.5}.Certify()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConvergentEvent(t *testing.T) {
	e := ConvergentEvent{Gap: 0.01, Contraction: 1, Diameter: 2, Sigma: 0.3, Grid: 0x1p-30, Steps: 1000}
	var a GDP
	if err := a.Compose(e); err != nil || math.Abs(a.Mu()/ConvergentMu(0.01, 1, 2, 1000, 0.3)-1) > 1e-14 {
		t.Errorf("mu %v (%v)", a.Mu(), err)
	}
	if !strings.Contains(e.String(), "1000 hidden") {
		t.Error(e)
	}
	raw, err := encodeEvent(e)
	if err != nil || decodeEvent(raw) != e {
		t.Errorf("%s reads back as %v (%v)", raw, decodeEvent(raw), err)
	}
	for _, bad := range []ConvergentEvent{{}, {Gap: 0.01, Contraction: 1.1, Diameter: 2, Sigma: 1, Grid: 1, Steps: 1}, {Gap: 0.01, Contraction: 1, Diameter: math.Inf(1), Sigma: 1, Grid: 1, Steps: 1}, {Gap: 0.01, Contraction: 1, Diameter: 1, Sigma: 1, Steps: 1}, {Gap: 0.01, Contraction: 1, Diameter: 1, Sigma: 1, Grid: 1}} {
		if err := a.Compose(bad); err == nil || errors.Is(err, ErrUnsupported) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
