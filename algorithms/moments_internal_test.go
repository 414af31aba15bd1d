package algorithms

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

func TestNondecreasing(t *testing.T) {
	for _, c := range [][2][]float64{
		{{1, 2, 3}, {1, 2, 3}}, {{3, 1}, {2, 2}}, {{1, 5, 3, 4, 10}, {1, 4, 4, 4, 10}}, {{3, 2, 1}, {2, 2, 2}}, {{}, {}},
	} {
		x := slices.Clone(c[0])
		if nondecreasing(x); !slices.Equal(x, c[1]) {
			t.Errorf("%v becomes %v, want %v", c[0], x, c[1])
		}
	}
}

// filtered is the model of noisy moments by the filter, and by a bare ridge.
func filtered(m, v []float64, d int, s1, s2, n float64) (clean, bare []float64) {
	values, vectors := engine.Symmetric{Dim: d}.Eigen(m)
	s := spectrum{vectors: vectors, values: momentsSpectrum(values, s2, n, 1)}
	along := s.along(v)
	clean = s.sum(momentsSolution(along, s.values, momentsRidge(along, s.values, s1, n, s2*math.Sqrt(float64(d)))))
	for i := range along {
		along[i] /= max(values[i], 0) + 1e-3*s2
	}
	return clean, s.sum(along)
}

func angle(a, b []float64) float64 {
	var ab, aa, bb float64
	for k := range a {
		ab, aa, bb = ab+a[k]*b[k], aa+a[k]*a[k], bb+b[k]*b[k]
	}
	return ab / math.Sqrt(aa*bb)
}

// Where the second moments are pure noise the model is the signed sum, and where they are not it
// is near the solution without noise; a bare ridge that is too small, the known defect, is
// neither.
func TestMomentsFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const d = 30
	noise := func(m []float64, s float64) []float64 {
		out := slices.Clone(m)
		for i := range out {
			out[i] += s * rng.NormFloat64()
		}
		return out
	}
	matrix := make([]float64, engine.Symmetric{Dim: d}.Len())
	want, v := make([]float64, d), make([]float64, d)
	const n = 10_000.
	for k := range d {
		l := n / d * math.Pow(0.85, float64(k))
		matrix[engine.Symmetric{Dim: d}.Index(k, k)] = l
		want[k] = rng.NormFloat64()
		v[k] = l * want[k] * 0.05
	}
	clean, bare := filtered(noise(matrix, 3), v, d, 0.5, 3, n)
	if c := angle(clean, want); !(c > 0.85 && c > angle(bare, want)) {
		t.Errorf("with moments that stand out: cosine %v, %v without the filter", c, angle(bare, want))
	}
	nothing := make([]float64, len(matrix))
	clean, bare = filtered(noise(nothing, 1e5), v, d, 0.5, 1e5, n)
	if c := angle(clean, v); !(c > 0.99) || angle(bare, v) > 0.9 {
		t.Errorf("with pure noise: cosine %v with the signed sum, %v without the filter", c, angle(bare, v))
	}
}

// The rule is within the range of every option, for any public numbers.
func TestMomentsRule(t *testing.T) {
	for _, n := range []int{2, 90, 512, 1e5, 1e9} {
		for _, d := range []int{1, 2, 30, 500, 1e6} {
			for _, epsilon := range []float64{1e-3, 1, 50} {
				for _, delta := range []float64{0, 1e-9, 1e-2} {
					c := momentsRule(n, d, privacy.Budget{Epsilon: epsilon, Delta: delta}, 0)
					if left := 1 - c.Count - c.Centre - c.Second; !(left > 0.2) || !(c.Count > 0 && c.Centre > 0 && c.Second >= 0 && c.Clip > 0 && c.Clip <= 2 && c.Ridge > 0) || (c.Second > 0) != (c.Kind != engine.NoSecond) {
						t.Errorf("n = %d, d = %d, epsilon %v, delta %v: %+v", n, d, epsilon, delta, c)
					}
					must.Equal(t, momentsRule(n, d, privacy.Budget{Epsilon: epsilon, Delta: delta}, 0.3).Count, 0,
						"a declared balance is released")
				}
			}
		}
	}
}

// The centre is shrunk alike in every unit, also where squares overflow.
func TestMomentsCentre(t *testing.T) {
	want := momentsCentre([]float64{3, -4}, 1)
	must.Equal(t, want, 1-2./25, "keep")
	for _, unit := range []float64{0x1p-600, 0x1p-500, 0x1p+500, 0x1p+600} {
		c := []float64{3 * unit, -4 * unit}
		if keep := momentsCentre(c, unit); keep != want || c[0] != 3*unit*want {
			t.Errorf("unit %v: keep = %v, centre %v, want %v", unit, keep, c, want)
		}
	}
	must.Equal(t, momentsCentre([]float64{0, 0}, 1), 0, "no centre: keep")
}

// identityOf is what checkpoints recognise a plan by.
func identityOf(t *testing.T, p *Plan) string {
	t.Helper()
	identity := must.Get(p.identity())(t)
	text := must.Get(json.Marshal(identity))(t)
	return string(text)
}

// A run is resumed with the declared numbers of its first attempt or not at all, also those that
// change no event.
func TestMomentsResumeWithTheirOptions(t *testing.T) {
	plan := func(a Moments) (*Plan, string) {
		s := must.Get(NewSpec(cpu.Backend{}, engine.Problem{N: 500, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, Certified))(t)
		p := must.Get(a.Plan(s))(t)
		return p, identityOf(t, p)
	}
	first := Moments{Second: "full", Centre: []float64{0.1, 0.2}, Balance: 0.3}
	p, identity := plan(first)
	if again, same := plan(first); again.objective() != p.objective() || same != identity {
		t.Error("the same options make another plan")
	}
	for name, change := range map[string]func(*Moments){
		"centre":  func(a *Moments) { a.Centre = []float64{0.1, 0.3} },
		"origin":  func(a *Moments) { a.Centre = []float64{0} },
		"balance": func(a *Moments) { a.Balance = 0.31 },
		"ridge":   func(a *Moments) { a.Ridge = 7 },
	} {
		other := first
		change(&other)
		q, text := plan(other)
		must.Same(t, q.Events(), p.Events(), "another %s: other events", name)
		if q.objective() == p.objective() || text == identity {
			t.Errorf("another %s is not seen: ledger %v, checkpoint %v", name, q.objective() == p.objective(), text == identity)
		}
	}
}

// b is between 0 and the released balance, exactly it for a declared centre, 0 without a centre.
func TestMomentsOffset(t *testing.T) {
	for _, share := range []float64{0, 0.1, 0.5, 0.9, 1} {
		for _, noise := range []float64{0.1, 10, 1e6} {
			k := 2*share - 1
			balance := (&MomentsPlan{CountNoise: noise}).balance(share*100, 100)
			b := momentsOffset(balance, 0.2, 1, noise, noise, 0.5)
			if b*k < 0 || math.Abs(b) > math.Abs(k) {
				t.Errorf("share %v, noise %v: b = %v", share, noise, b)
			}
			must.Equal(t, momentsOffset(balance, 0.2, 1, noise, noise, 0), 0, "no centre: b")
			must.Near(t, momentsOffset((&MomentsPlan{Balance: share}).balance(share*100, 100), 0.2, 1, noise, 0, 1),
				min(max(k, -0.98), 0.98), 1e-12, "declared: b, want %v", k)
		}
	}
}

// A gradient that is noise makes next to no step, and one that is not goes most of the way;
// without the bound by the model, the known defect, the noise of gradients with a small share of
// the budget takes over.
func TestStepsAreDamped(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const d, n = 30, 1000.
	xi, w := make([]float64, d), make([]float64, d)
	for i := range xi {
		xi[i] = n / d * (0.2 + float64(i)/d)
		w[i] = rng.NormFloat64()
	}
	const h = 0.2
	moved := func(l momentsLogit) (square float64) { // over the variance of the scores
		var all float64
		for i := range w {
			square += xi[i] * (l.w[i] - w[i]) * (l.w[i] - w[i])
			all += xi[i] * w[i] * w[i]
		}
		return square / all
	}
	var noisy, free float64
	for range 200 {
		const s = 1e4
		g, l := make([]float64, d), momentsLogit{w: slices.Clone(w), h: h}
		for i := range g {
			g[i] = s * rng.NormFloat64()
		}
		l.step(g, xi, s, 0)
		noisy += moved(l) / 200
		tau := signalPerEigenvalue(g, xi, s) / h
		for i := range w {
			l.w[i] = w[i]
			if tau > 0 {
				l.w[i] -= g[i] / (h*xi[i] + s*s/tau)
			}
		}
		free += moved(l) / 200
	}
	if noisy > 1e-3 || free < 1 {
		t.Errorf("pure noise moves the scores by %v of their variance, without the bound by %v", noisy, free)
	}
	g, l := make([]float64, d), momentsLogit{w: make([]float64, d), h: h}
	for i := range g {
		l.w[i] = 0.5 * w[i]
		g[i] = -h*xi[i]*0.5*w[i] + 0.01*rng.NormFloat64()
	}
	l.step(g, xi, 0.01, 0)
	if left := moved(l); left > 1e-3 {
		t.Errorf("after the step of an exact gradient %v of the variance is left", left)
	}
	l = momentsLogit{w: make([]float64, d), h: h}
	if l.step(g, xi, 0.01, 0); slices.ContainsFunc(l.w, func(x float64) bool { return x != 0 }) {
		t.Error("a model of which nothing is known makes a step")
	}
}

// Whatever is released, as far as float64 goes, the fit, the start of the steps and the model after them are finite.
func TestMomentsOfHugeReleasesAreFinite(t *testing.T) {
	const d, n = 4, 1000.
	for _, second := range []engine.SecondMoments{engine.DiagonalSecond, engine.FullSecond} {
		for _, huge := range []float64{1e300, -1e300, math.MaxFloat64, 1e155} {
			for _, p := range []float64{0.5, 1 / n, 1 - 1/n} {
				m := &MomentsPlan{ClipRadius: 0.5, Second: second, SumNoise: 3, SecondNoise: 3, StepNoise: 3, Ridge: 2}
				v, g := slices.Repeat([]float64{huge}, d), slices.Repeat([]float64{-huge}, d)
				v[0] = -huge
				f := must.Get(m.fit(t.Context(), v, slices.Repeat([]float64{huge}, second.Len(d)), n))(t)
				model := f.logit(n, p, 2*p-1, 3*p) // noise or none
				start := slices.Clone(model.w)
				model.step(f.along(inUnits(g, m.ClipRadius)), f.values, m.StepNoise/m.ClipRadius, m.Ridge/(m.ClipRadius*m.ClipRadius))
				for _, x := range slices.Concat(f.values, f.w, start, model.w, []float64{model.intercept, model.h}) {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("second moments %v, releases of %v, share %v: fit %+v, start %v, model %+v", second, huge, p, f, start, model)
					}
				}
			}
		}
	}
}
