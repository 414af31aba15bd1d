package attack

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// planOn plans a on a problem, for epsilon and delta.
func planOn(t *testing.T, a algorithms.Algorithm, p engine.Problem, epsilon, delta float64) *algorithms.Plan {
	t.Helper()
	s := must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0, privacy.Budget{Epsilon: epsilon, Delta: delta}, algorithms.Certified))(t)
	return must.Get(a.Plan(s))(t)
}

func scores(n, d int) engine.Problem {
	return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.5}
}

func momentsPlan(t *testing.T, a algorithms.Algorithm, n, d int, delta float64) *algorithms.Plan {
	t.Helper()
	return planOn(t, a, scores(n, d), 1, delta)
}

// twoRecords are n records, all zero but record 0, which is x of class y, and the same with x2
// of class y2 in its place.
func twoRecords(n int, x []float64, y float64, x2 []float64, y2 float64) (data, neighbour *engine.Records) {
	build := func(x []float64, y float64) *engine.Records {
		all, labels := make([]float64, n*len(x)), make([]float64, n)
		for i := range labels {
			labels[i] = float64(1 - 2*(i%2))
		}
		copy(all, x)
		labels[0] = y
		return mustRecords(all, labels, len(x), engine.UnitBounds())
	}
	return build(x, y), build(x2, y2)
}

// Each release moves by at least 0.99 of its certificate for some neighbours, and by no more
// for any: with a public centre and balance nothing but the last pass is released, and records
// at the angle of the theorem attain the joint bound.
func TestMomentsAttainTheirCertificates(t *testing.T) {
	const n, d = 40, 4
	origin := make([]float64, d)
	along := func(length, angle float64) []float64 { // in the plane of two axes
		x := make([]float64, d)
		x[0], x[1] = length*math.Cos(angle), length*math.Sin(angle)
		return x
	}
	for _, R := range []float64{0.25, 0.9} {
		for _, share := range []float64{0.1, 0.34, 0.5, 0.9} {
			for _, kind := range []string{"none", "full"} {
				for _, delta := range []float64{0, 1e-5} {
					a := algorithms.Moments{Second: kind, Centre: origin, Balance: 0.5, ClipRadius: R, SecondShare: share}
					if kind == "none" {
						a.SecondShare = 0
					}
					p := momentsPlan(t, a, n, d, delta)
					if len(p.Releases) > 2 || p.Moments().Passes != 1 {
						t.Fatalf("%d releases in %d passes", len(p.Releases), p.Moments().Passes)
					}
					cos := -1.0 // the signed sum alone: opposite records
					if h := p.Moments().Scale; h > 0 {
						cos = -min(1, 1/(2*h*h*R*R)) // t = alpha/(2 beta)
					}
					data, neighbour := twoRecords(n, along(R*(1-1e-9), 0), 1, along(R*(1-1e-9), math.Acos(cos)), 1)
					ratio, err := Replay(a, p, data, []*engine.Records{neighbour}, 3)
					if err != nil {
						t.Errorf("R = %v, share %v, %s, delta %v: %v", R, share, kind, delta, err)
					}
					if ratio < 0.99 {
						t.Errorf("R = %v, share %v, %s, delta %v: the worst case attains %.4f", R, share, kind, delta, ratio)
					}
				}
			}
		}
	}
	// Count and centre in the first pass: opposite records of different classes.
	for _, delta := range []float64{0, 1e-5} {
		a := algorithms.Moments{CentreShare: 0.2, Second: "full"}
		p := momentsPlan(t, a, n, d, delta)
		data, neighbour := twoRecords(n, along(1-1e-9, 0), 1, along(1-1e-9, math.Pi), -1)
		if ratio, err := Replay(a, p, data, []*engine.Records{neighbour}, 3); err != nil || ratio < 0.99 {
			t.Errorf("delta = %v: attains %.4f, %v", delta, ratio, err)
		}
	}
}

// The gradient of a step moves by at most 2 R for any model, intercept and neighbours, and by 2 R
// for a model that is sure and wrong about both.
func TestLogisticGradientsAttainTheirCertificate(t *testing.T) {
	const n, d, R = 20, 3, 0.3
	kernel := must.Get(cpu.Backend{}.PlanMoments(engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: engine.AnyLabels}))(t)
	certificate := must.Get(privacy.RecordSum{Radius: R, Weight: 1, Error: kernel.Bounds(engine.Query{Radius: R, Second: engine.NoSecond}).Sum, Name: "gradient"}.Certify())(t)
	gradient := func(r *engine.Records, m engine.Query) []float64 {
		ev := must.Get(kernel.Bind(r))(t)
		dst := engine.NewMoments(d, engine.NoSecond)
		must.Do(t, ev.Sum(context.Background(), dst.All, m))
		return dst.Sum
	}
	moved := func(data, neighbour *engine.Records, m engine.Query) float64 {
		a, b := gradient(data, m), gradient(neighbour, m)
		var square float64
		for k := range a {
			square += (a[k] - b[k]) * (a[k] - b[k])
		}
		return math.Sqrt(square) / certificate.Sensitivity()
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for trial := range 3000 {
		x, z := make([]float64, d), make([]float64, d)
		m := engine.Query{Centre: make([]float64, d), Radius: R, W: make([]float64, d), Intercept: 10 * rng.NormFloat64()}
		scale := math.Pow(10, 4*rng.Float64()-1)
		for k := range d {
			x[k], z[k], m.W[k], m.Centre[k] = rng.NormFloat64(), rng.NormFloat64(), scale*rng.NormFloat64(), 0.2*rng.NormFloat64()
		}
		data, neighbour := twoRecords(n, x, float64(1-2*rng.IntN(2)), z, 2*rng.Float64()-1)
		if ratio := moved(data, neighbour, m); ratio > 1 {
			t.Fatalf("trial %d: a record moves the gradient by %v of its certificate", trial, ratio)
		}
	}
	data, neighbour := twoRecords(n, []float64{R, 0, 0}, 1, []float64{-R, 0, 0}, 1)
	sure := engine.Query{Radius: R, W: []float64{0, 1, 0}, Intercept: -50}
	must.Within(t, moved(data, neighbour, sure), 0.999, 1, "the worst case attains")
}

// Random neighbours for all kinds of options, n and d.
func TestMomentsReplay(t *testing.T) {
	for _, shape := range [][2]int{{2, 1}, {30, 3}, {300, 30}} {
		n, d := shape[0], shape[1]
		for i, a := range []algorithms.Moments{
			{}, {Second: "none"}, {Second: "diagonal", CentreShare: 0.3}, {Second: "full", CentreShare: 0.1, ClipRadius: 0.3},
			{Second: "full", Balance: 0.3}, {Second: "full", Centre: make([]float64, d), Ridge: 3},
			{Second: "full", Steps: 2}, {Second: "diagonal", Steps: 5, StepShare: 0.6}, {Second: "full", Centre: make([]float64, d), Balance: 0.1, Steps: 1},
		} {
			for _, delta := range []float64{0, 1e-6} {
				if a.Steps > 0 && delta == 0 {
					continue
				}
				p := momentsPlan(t, a, n, d, delta)
				data := RandomRecords(n, d, engine.UnitBounds(), 5)
				must.Check(Replay(a, p, data, Neighbours(data, 12, 6), 7))(t, "n = ", n, ", d = ", d, ", options ", i,
					", delta ", delta)
			}
		}
	}
}

// Other bounds: graded labels within another label bound, norms from tiny to huge, a clip radius
// beyond all records.
func TestMomentsReplayBounds(t *testing.T) {
	const n, d = 60, 3
	for _, b := range []engine.Bounds{{FeatureNorm: 3.7, LabelAbs: 0.3}, {FeatureNorm: 0x1p-240, LabelAbs: 40}, {FeatureNorm: 0x1p+240, LabelAbs: 1e-9}} {
		for i, a := range []algorithms.Moments{{}, {Second: "full"}, {Second: "diagonal", ClipRadius: 2 * b.FeatureNorm}, {Second: "full", Steps: 2}} {
			for _, delta := range []float64{0, 1e-6} {
				if a.Steps > 0 && delta == 0 {
					continue
				}
				p := planOn(t, a, engine.Problem{N: n, D: d, Bounds: b, Loss: engine.Logistic{}, Radius: 0.5 / b.FeatureNorm}, 0.1, delta)
				data := RandomRecords(n, d, b, 5)
				must.Check(Replay(a, p, data, Neighbours(data, 12, 6), 7))(t, b, ", options ", i, ", delta ", delta)
			}
		}
	}
}

// leaky releases as planned and then goes on with the exact vector of one release.
type leaky struct {
	algorithms.Algorithm
	which int
}

func (l leaky) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	return l.Algorithm.Train(ctx, ev, p, &leakySession{Session: s, which: l.which}, t)
}

type leakySession struct {
	privacy.Session
	which int
}

func (s *leakySession) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	exact := append([]float64(nil), x...)
	err := s.Session.Release(x, c, m)
	if s.which == 0 {
		copy(x, exact)
	}
	s.which--
	return err
}

// Neighbours for gradients after moments: random ones with all kinds of options, and a record
// that crosses all others, whose gradient attains its certificate.
func TestMomentsDescentReplay(t *testing.T) {
	for _, shape := range [][2]int{{2, 1}, {30, 3}, {200, 12}} {
		n, d := shape[0], shape[1]
		for i, a := range []algorithms.MomentsDescent{
			{}, {Steps: 1, GradientShare: 0.9}, {Moments: algorithms.Moments{Second: "diagonal", ClipRadius: 1.5}, Steps: 5},
			{Moments: algorithms.Moments{Second: "none", Centre: make([]float64, d), Balance: 0.3}, Steps: 2},
		} {
			for _, delta := range []float64{0, 1e-6} {
				p := momentsPlan(t, a, n, d, delta)
				data := RandomRecords(n, d, engine.UnitBounds(), 5)
				must.Check(Replay(a, p, data, Neighbours(data, 12, 6), 7))(t, "n = ", n, ", d = ", d, ", options ", i,
					", delta ", delta)
			}
		}
	}
	// Opposite records: the replaced one is in every pair of the other class, at any start.
	const n, d, R = 40, 2, 0.3
	a := algorithms.MomentsDescent{Moments: algorithms.Moments{Second: "none", Centre: make([]float64, d), Balance: 0.5, ClipRadius: R}, Steps: 1, GradientShare: 0.98}
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		x[i*d], y[i] = -R, -1
	}
	x[0], y[0] = R, 1
	data := mustRecords(append([]float64(nil), x...), append([]float64(nil), y...), d, engine.UnitBounds())
	y[0] = -1
	p := momentsPlan(t, a, n, d, 1e-5)
	moved, err := Replay(a, p, data, []*engine.Records{mustRecords(x, y, d, engine.UnitBounds())}, 3)
	if err != nil || moved < 0.25 {
		t.Errorf("a class switch moves a release by %.3f of its certificate, %v", moved, err)
	}
}

// The known defects of private moments: weights from the exact count, clipping around the
// exact centre, a model from exact moments, and a forgotten factor of a certificate.
func TestReplayCatchesLeakyMoments(t *testing.T) {
	const n, d = 500, 3
	a := algorithms.Moments{Second: "full", CentreShare: 0.2}
	x, y := copies(RandomRecords(n, d, engine.UnitBounds(), 1))
	for i := range n * 3 / 4 { // three quarters of one class: the weights depend on the count
		y[i], x[i*d] = 1, x[i*d]/2+0.4
	}
	data := mustRecords(x, y, d, engine.UnitBounds())
	neighbours := Neighbours(data, 12, 2)
	for which, name := range []string{"exact count", "exact centre", "exact moments"} {
		_, err := Replay(leaky{a, which}, momentsPlan(t, a, n, d, 1e-5), data, neighbours, 3)
		if !errors.As(err, new(Violation)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Steps, for labels that the records explain and little noise, so that gradients stand out of it.
	steps := algorithms.Moments{Second: "full", Centre: make([]float64, d), Balance: 0.3, Steps: 2, StepShare: 0.5}
	for i := range y {
		y[i] = math.Copysign(1, x[i*d]-0.2)
	}
	data = mustRecords(x, y, d, engine.UnitBounds())
	neighbours = Neighbours(data, 12, 2)
	for which, name := range []string{"exact moments before steps", "an exact gradient", "the last exact gradient"} {
		_, err := Replay(leaky{steps, which}, planOn(t, steps, scores(n, d), 30, 1e-5), data, neighbours, 3)
		if !errors.As(err, new(Violation)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	descent := algorithms.MomentsDescent{Moments: a, Steps: 2, GradientShare: 0.3}
	for which, name := range []string{"exact count", "records moved to the exact centre", "start and curvature from exact moments", "a step by an exact gradient", "the last step"} {
		_, err := Replay(leaky{descent, which}, momentsPlan(t, descent, n, d, 1e-5), data, neighbours, 3)
		if !errors.As(err, new(Violation)) {
			t.Errorf("moments-descent, %s: %v", name, err)
		}
	}
	p := momentsPlan(t, algorithms.Moments{Second: "full", Centre: make([]float64, d), Balance: 0.5}, n, d, 0)
	last := &p.Releases[1]
	last.Certificate = must.Get((privacy.SecondMomentSum{Radius: p.Moments().ClipRadius, Dim: 1}).Certify())(t)
	R := p.Moments().ClipRadius
	first, second := twoRecords(n, []float64{R, 0, 0}, 1, []float64{0, R, 0}, 1)
	if _, err := Replay(a, p, first, []*engine.Records{second}, 3); !errors.As(err, new(Violation)) {
		t.Errorf("sqrt 2 forgotten: %v", err)
	}
	// A gradient with the certificate of records of one class at even odds, R: the rare class
	// moves it by nearly 2 R.
	rare := algorithms.Moments{Second: "full", Centre: make([]float64, d), Balance: 0.03, Steps: 1}
	for _, sound := range []bool{true, false} {
		p = momentsPlan(t, rare, n, d, 1e-5)
		R, last = p.Moments().ClipRadius, &p.Releases[1]
		if !sound {
			last.Certificate = must.Get((privacy.RecordSum{Radius: R / 2, Weight: 1, Name: "gradient"}).Certify())(t)
		}
		first, second = twoRecords(n, []float64{R, 0, 0}, 1, []float64{-R, 0, 0}, 1)
		if _, err := Replay(rare, p, first, []*engine.Records{second}, 3); errors.As(err, new(Violation)) == sound {
			t.Errorf("a gradient, factor 2 forgotten %t: %v", !sound, err)
		}
	}
}
