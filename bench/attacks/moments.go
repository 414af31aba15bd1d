package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/kernels"
	"dyad/privacy"
)

// momentsKinds are the releases of moments, each alone where it can be: a public centre and a
// declared balance leave only those of the last pass.
var momentsKinds = []struct {
	name  string
	alone bool // nothing else is released, so that its worst case must attain it
	pure  bool // delta = 0
	of    func(t task, rng *rand.Rand) algorithms.Algorithm
}{
	{"count and centre", true, false, func(task, *rand.Rand) algorithms.Algorithm {
		return algorithms.Moments{Second: "none", CentreShare: 0.4}
	}},
	{"signed sum", true, false, lastPass("none")},
	{"joint, full", true, false, lastPass("full")},
	{"joint, diagonal", true, false, lastPass("diagonal")},
	{"apart, full", true, true, lastPass("full")},
	{"apart, diagonal", true, true, lastPass("diagonal")},
	{"logistic steps", false, false, logisticSteps},
	{"all releases", false, false, everything},
	{"all releases, pure", false, true, everything},
	{"both classes", true, false, func(t task, rng *rand.Rand) algorithms.Algorithm {
		return algorithms.MomentMetric{CentreShare: 0.05 + 0.9*rng.Float64(),
			ClipRadius: (0.05 + 0.9*rng.Float64()) * t.bounds.FeatureNorm}
	}},
}

// ofMoments says that an algorithm is attacked here: it takes no gradients.
func ofMoments(a algorithms.Algorithm) bool {
	switch a.(type) {
	case algorithms.Moments, algorithms.MomentMetric:
		return true
	}
	return false
}

// linearFor is the loss that attains certificates of gradients, of what an algorithm learns.
func linearFor(i algorithms.Info) engine.Loss {
	if i.MetricsOnly {
		return audit.LinearMetric{}
	}
	return audit.Linear{}
}

// lastPass releases nothing before the last pass.
func lastPass(second string) func(task, *rand.Rand) algorithms.Algorithm {
	return func(t task, rng *rand.Rand) algorithms.Algorithm {
		a := algorithms.Moments{Second: second, Centre: make([]float64, t.d), Balance: pick(rng, 0.5, 0.1, 0.93),
			ClipRadius: (0.1 + 0.9*rng.Float64()) * t.bounds.FeatureNorm}
		if second != "none" {
			a.SecondShare = pick(rng, 0.05, 0.3, 0.5, 0.7, 0.95)
		}
		return a
	}
}

// logisticSteps spends nearly all on gradients, at models that are sure about the rare class.
func logisticSteps(t task, rng *rand.Rand) algorithms.Algorithm {
	return algorithms.Moments{Second: pick(rng, "diagonal", "full"), Centre: make([]float64, t.d),
		Balance: pick(rng, 0.5, 0.02, 0.98), ClipRadius: (0.1 + 0.9*rng.Float64()) * t.bounds.FeatureNorm, SecondShare: 0.02,
		Steps: 1 + rng.IntN(4), StepShare: 0.95}
}

func everything(t task, rng *rand.Rand) algorithms.Algorithm {
	return algorithms.Moments{Second: pick(rng, "none", "diagonal", "full"), CentreShare: 0.3 * rng.Float64(),
		CountShare: 0.3 * rng.Float64(), ClipRadius: (0.05 + 1.5*rng.Float64()) * t.bounds.FeatureNorm}
}

// momentsJobs attack every kind of release of moments, of persons or of rows.
func momentsJobs(_ []candidate, round int, persons bool) []job {
	area := "moments"
	if persons {
		area = "persons"
	}
	var jobs []job
	for _, kind := range momentsKinds {
		for again := range 4 {
			jobs = append(jobs, job{fmt.Sprintf("%s|%s|%d|%d", area, kind.name, again, round), func(rng *rand.Rand) configuration {
				t := drawMoments(kind.pure, rng)
				if persons {
					t.ofPersons(rng)
				}
				a := kind.of(t, rng)
				if loss := attack.Loss(a.Info()); !a.Info().Learns(t.problem.Loss) {
					t.problem.Loss, t.problem.LabelValues, t.levels, t.backend.Float32 = loss, 0, 2, false
					t.describe()
				}
				return momentsAttack(kind.name, a, t, rng.Uint64())
			}})
		}
	}
	return jobs
}

// drawMoments draws a problem for moments; two features or more attain the joint bounds.
func drawMoments(pure bool, rng *rand.Rand) task {
	t := draw(candidate{name: "logistic", loss: engine.Logistic{}, ranges: len(ranges)}, false, rng)
	t.d = max(2, t.d)
	t.backend = cpu.Backend{Workers: 1 + rng.IntN(2), Variant: pick(rng, kernels.Variants()...)}
	t.problem.D, t.l2 = t.d, 0
	if pure {
		t.budget.Delta = 0
	}
	t.describe()
	return t
}

func momentsAttack(name string, a algorithms.Algorithm, t task, coins uint64) configuration {
	options := t.text
	switch a := a.(type) {
	case algorithms.Moments:
		options = fmt.Sprintf("clip=%.3g balance=%g steps=%d shares=%.3g,%.3g %s", a.ClipRadius, a.Balance, a.Steps,
			a.CentreShare, a.SecondShare, t.text)
	case algorithms.MomentMetric:
		options = fmt.Sprintf("clip=%.3g share=%.3g %s", a.ClipRadius, a.CentreShare, t.text)
	}
	area := "moments"
	if t.persons > 0 {
		area = "persons"
	}
	return configuration{
		area: area, algorithm: a.Info().Name, loss: name, n: t.n, d: t.d, options: options,
		plan: func() (hunt, error) {
			p, err := t.plan(a, algorithms.Certified)
			return t.replays(a, p, coins, func(i int, rng *rand.Rand) instance {
				return t.proposeMoments(p.Moments(), i, rng)
			}), err
		},
	}
}

// proposeMoments returns the worst cases of the theorems, and in between any instance: one
// record of length R is turned by an angle in the plane of two axes, mirrored at their
// bisector, so that the diagonal of x x^T moves as much as the matrix. Its class is the one
// that the signed sum weights more.
func (s shape) proposeMoments(m *algorithms.MomentsPlan, kind int, rng *rand.Rand) instance {
	if kind%4 == 3 {
		return s.propose(kind/4, rng)
	}
	i := instance{x: make([]float64, s.n*s.d), y: make([]float64, s.n), row: make([]float64, s.d), k: rng.IntN(s.n)}
	for r := range i.y {
		i.y[r] = s.randomLabel(rng)
	}
	R := m.ClipRadius
	cos := [...]float64{-1, 0}[kind/4%2] // opposite records; orthogonal ones
	if h := m.Scale; h > 0 && m.Steps == 0 {
		cos = -min(1, 1/(2*h*h*R*R)) // alpha/(2 beta)
	}
	first := m.Passes-m.Steps > 1
	if first {
		R, cos = s.bounds.FeatureNorm, -1
	}
	if m.Classes && kind%4 == 1 {
		cos = 1 // a change of class alone, which attains the joint bound around any centre
	}
	angle := math.Acos(cos)
	for side, row := range [][]float64{i.x[i.k*s.d:][:s.d], i.row} {
		at := math.Pi/4 + angle*(float64(side)-0.5)
		row[0], row[1] = R*math.Cos(at), R*math.Sin(at)
	}
	i.y[i.k] = s.bounds.LabelAbs
	if m.Balance > 0.5 {
		i.y[i.k] = -s.bounds.LabelAbs
	}
	i.label = i.y[i.k]
	if first {
		i.label = -i.label
	}
	return i
}

// jointMoments is J of docs/theory.md#joint-moments.
func jointMoments(alpha, beta exact) exact {
	if alpha.over(beta).of(2) >= 1 {
		return num(2).times(alpha.root())
	}
	return num(2).times(alpha).plus(num(2).times(beta)).plus(alpha.times(alpha).over(num(2).times(beta))).root()
}

// momentCertificates are the constructors of certificates of moments.
func momentCertificates() []recomputed {
	return []recomputed{
		{"PositiveCount", func(rng *rand.Rand) (exact, float64, error) {
			c := privacy.PositiveCount{Error: nothing(rng, 1)}
			return certified(num(1).plus(num(2*c.Error)), c.Certify)
		}},
		{"RecordSum", func(rng *rand.Rand) (exact, float64, error) {
			s := privacy.RecordSum{Radius: scale(rng), Weight: 1 + rng.Float64(), Name: "sum"}
			s.Error = nothing(rng, s.Radius)
			return certified(num(2).times(num(s.Weight)).times(num(s.Radius)).plus(num(2*s.Error)), s.Certify)
		}},
		{"SecondMomentSum", func(rng *rand.Rand) (exact, float64, error) {
			s := privacy.SecondMomentSum{Radius: scale(rng), Dim: 1 + rng.IntN(3), ClassWise: rng.IntN(2) == 0}
			s.Error = nothing(rng, s.Radius*s.Radius)
			square := num(s.Radius).times(num(s.Radius))
			if s.Dim > 1 || s.ClassWise {
				square = square.times(num(2).root())
			}
			return certified(square.plus(num(2*s.Error)), s.Certify)
		}},
		{"JointMoments", func(rng *rand.Rand) (exact, float64, error) {
			m := privacy.JointMoments{Radius: scale(rng), Weight: 1 + rng.Float64()}
			m.Scale = m.Weight / m.Radius * pick(rng, scale(rng), math.Sqrt2/2, rng.Float64(), 2*rng.Float64())
			m.Error = nothing(rng, m.Radius)
			first := num(m.Weight).times(num(m.Radius))
			second := num(m.Scale).times(num(m.Radius)).times(num(m.Radius))
			alpha, beta := first.times(first), second.times(second)
			return certified(jointMoments(alpha, beta).plus(num(2*m.Error)), m.Certify)
		}},
		{"GroupMoments", func(rng *rand.Rand) (exact, float64, error) {
			m := privacy.GroupMoments{Radius: scale(rng), Group: 2 + rng.IntN(63)}
			m.Scale = pick(rng, 0, math.Sqrt2/2, rng.Float64(), 2*rng.Float64()) / m.Radius
			m.Error = nothing(rng, m.Radius)
			first := num(m.Radius)
			second := num(m.Scale).times(first).times(first)
			joint := num(2).times(first)
			if m.Scale > 0 {
				joint = jointMoments(first.times(first), second.times(second))
			}
			return certified(joint.times(num(float64(m.Group-1))).over(num(float64(m.Group))).plus(num(2*m.Error)), m.Certify)
		}},
		{"ClassMoments", func(rng *rand.Rand) (exact, float64, error) {
			m := privacy.ClassMoments{Radius: scale(rng)}
			m.Scale = pick(rng, scale(rng), math.Sqrt2/2, rng.Float64(), 2*rng.Float64()) / m.Radius
			m.Count = nothing(rng, 2*m.Radius)
			m.Error = nothing(rng, m.Radius)
			first, second := num(m.Radius), num(m.Scale).times(num(m.Radius)).times(num(m.Radius))
			alpha, beta := first.times(first), second.times(second)
			change := num(2).times(alpha).plus(num(2).times(beta)).plus(num(m.Count).times(num(m.Count))).root()
			return certified(change.atLeast(jointMoments(alpha, beta)).plus(num(2*m.Error)), m.Certify)
		}},
	}
}
