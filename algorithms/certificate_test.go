package algorithms

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

// A plain one-file implementation of the recursions, independent of the engine
// and of the algorithms, for brute force (docs/theory.md#audit-worst-cases).

type sample struct {
	x [][]float64
	y []float64
}

func (s sample) pairGrad(g, w []float64, i, j int, weight float64) {
	t := s.y[i] - s.y[j]
	if t == 0 {
		return
	}
	var u float64
	for k := range w {
		u += t * w[k] * (s.x[i][k] - s.x[j][k])
	}
	c := -weight * t / (1 + math.Exp(u))
	for k := range g {
		g[k] += c * (s.x[i][k] - s.x[j][k])
	}
}

func (s sample) step(w, g []float64, eta, alpha, radius float64) {
	var square float64
	for k := range w {
		w[k] -= eta * (g[k] + alpha*w[k])
		square += w[k] * w[k]
	}
	if norm := math.Sqrt(square); norm > radius {
		for k := range w {
			w[k] *= radius / norm
		}
	}
}

// descent moves w by a step on all pairs.
func (s sample) descent(w []float64, eta, alpha, radius float64) {
	n, g := len(s.y), make([]float64, len(w))
	for i := range n {
		for j := range n {
			if i != j {
				s.pairGrad(g, w, i, j, 1/float64(n*(n-1)))
			}
		}
	}
	s.step(w, g, eta, alpha, radius)
}

func (s sample) descend(steps int, eta, alpha, radius float64) []float64 {
	w := make([]float64, len(s.x[0]))
	for range steps {
		s.descent(w, eta, alpha, radius)
	}
	return w
}

func (s sample) onePass(eta []float64, alpha, radius float64) (all [][]float64) {
	n, d := len(s.y), len(s.x[0])
	w := make([]float64, d)
	all = append(all, slices.Clone(w))
	for t := 2; t <= n; t++ {
		g := make([]float64, d)
		for i := range t - 1 {
			s.pairGrad(g, w, t-1, i, 1/float64(t-1))
		}
		s.step(w, g, eta[t], alpha, radius)
		all = append(all, slices.Clone(w))
	}
	return all
}

func distance(a, b []float64) float64 {
	var s float64
	for k := range a {
		s += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(s)
}

func randomSample(rng *rand.Rand, n, d int) sample {
	s := sample{make([][]float64, n), make([]float64, n)}
	for i := range n {
		s.x[i], s.y[i] = randomPoint(rng, d), float64(2*rng.IntN(2)-1)
	}
	return s
}

func randomPoint(rng *rand.Rand, d int) []float64 {
	x := make([]float64, d)
	var square float64
	for k := range x {
		x[k] = rng.NormFloat64()
		square += x[k] * x[k]
	}
	f := math.Pow(rng.Float64(), 0.2) / math.Sqrt(square)
	for k := range x {
		x[k] *= f
	}
	return x
}

// structured is the instance on which the AUC gradient moves most: all records
// are (-u, -1).
func structured(n, d int) sample {
	s := sample{make([][]float64, n), make([]float64, n)}
	for i := range n {
		s.x[i], s.y[i] = make([]float64, d), -1
		s.x[i][0] = -1
	}
	return s
}

// replace returns s with record k replaced by a random one or, on a structured
// sample, by (u, 1).
func (s sample) replace(rng *rand.Rand, k int, worst bool) sample {
	out := sample{append([][]float64(nil), s.x...), append([]float64(nil), s.y...)}
	if worst {
		out.x[k] = make([]float64, len(s.x[0]))
		out.x[k][0], out.y[k] = 1, 1
	} else {
		out.x[k], out.y[k] = randomPoint(rng, len(s.x[0])), float64(2*rng.IntN(2)-1)
	}
	return out
}

// docs/theory.md#audits: no neighbour moves an iterate by more than its certificate.
func TestBruteForceNeighboursStayWithinCertificates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 12))
	trials := 150
	if testing.Short() {
		trials = 30
	}
	for _, alpha := range []float64{0, 1e-3, 0.1, 1} {
		var pass, descent float64
		for trial := range trials {
			n, d := 8+rng.IntN(24), 2
			radius := []float64{0.05, 1, 4}[rng.IntN(3)]
			worst := trial%3 == 0
			s := randomSample(rng, n, d)
			if worst {
				s = structured(n, d)
			}
			k := rng.IntN(n)
			other := s.replace(rng, k, worst)
			c := must.Get(engine.Logistic{}.Constants(engine.UnitBounds(), radius))(t)
			curvature := privacy.Curvature{PairDiameter: c.PairDiameter, Smoothness: c.Smoothness, StrongConvexity: alpha, Convex: true, Diameter: 2 * radius}
			path := radius * []float64{0.3, 1, 3}[rng.IntN(3)]
			limit := 2 / (c.Smoothness + 2*alpha)

			eta := equalisingSchedule(n, alpha, path)
			certificate := must.Get(privacy.PairwiseRecursion{Curvature: curvature, Eta: eta}.Certify())(t)
			moved := distance(s.onePass(eta, alpha, radius)[n-1], other.onePass(eta, alpha, radius)[n-1])
			pass = max(pass, moved/certificate.Sensitivity())

			steps := 1 + rng.IntN(20)
			size := min(path/float64(steps), limit)
			certificate = must.Get(privacy.GradientDescent{Curvature: curvature, PairFraction: 2 / float64(n), Steps: steps, StepSize: size}.Certify())(t)
			moved = distance(s.descend(steps, size, alpha, radius), other.descend(steps, size, alpha, radius))
			descent = max(descent, moved/certificate.Sensitivity())
		}
		t.Logf("alpha=%g: largest move %.3f (one pass) and %.3f (descent) of the certificate", alpha, pass, descent)
		if pass > 1 || descent > 1 {
			t.Errorf("alpha=%g: a neighbour moves %.6g (one pass) and %.6g (descent) of the certificate", alpha, pass, descent)
		}
		if pass < 0.3 || descent < 0.3 {
			t.Errorf("alpha=%g: the attack reaches only %.3g and %.3g: too weak to mean anything", alpha, pass, descent)
		}
	}
}

// docs/theory.md#audit-worst-cases: on the structured instance the full-batch gradient moves by
// between 7.8/n and 8/n at r = 1, while 2 Dg/n = 7.857/n.
func TestGradientGapNearlyAttainsDiameter(t *testing.T) {
	const n, d = 200, 2
	s := structured(n, d)
	other := s.replace(nil, 17, true)
	w := []float64{-1, 0}
	gap := make([]float64, d)
	for i := range n {
		for j := range n {
			if i != j {
				s.pairGrad(gap, w, i, j, 1/float64(n*(n-1)))
				other.pairGrad(gap, w, i, j, -1/float64(n*(n-1)))
			}
		}
	}
	c := must.Get(engine.Logistic{}.Constants(engine.UnitBounds(), 1))(t)
	moved := n * math.Hypot(gap[0], gap[1])
	must.Within(t, moved, 7.8, 2*c.PairDiameter, "the gradient times n moves")
}

// docs/theory.md#equalising-schedule.
func TestEqualisingScheduleEqualises(t *testing.T) {
	for _, n := range []int{2, 3, 10, 64, 257} {
		for _, alpha := range []float64{0, 1e-9, 1e-3, 0.1, 1} {
			for _, path := range []float64{0.1, 1, 4} {
				eta := equalisingSchedule(n, alpha, path)
				const dg = 4.0
				// delta_n(k) by the recursion itself, with L = 0 so that
				// c_t = 1 - alpha eta_t wherever that is not negative.
				lo, hi := math.Inf(1), 0.0
				for k := 1; k <= n; k++ {
					delta := 0.0
					for step := 2; step <= n; step++ {
						switch {
						case step == k:
							delta = dg * eta[step]
						case step > k:
							delta = (1-alpha*eta[step])*delta + dg*eta[step]/float64(step-1)
						}
					}
					lo, hi = min(lo, delta), max(hi, delta)
				}
				if want := dg * eta[n]; hi-lo > 1e-9 || math.Abs(hi-want) > 1e-9 {
					t.Errorf("n=%d alpha=%g H=%g: delta_n(k) from %.12g to %.12g, want all %.12g", n, alpha, path, lo, hi, want)
				}
				if alpha == 0 && math.Abs(dg*eta[n]-2*dg*path/float64(n)) > 1e-12 {
					t.Errorf("n=%d H=%g: delta %.12g, want 2 Dg H/n", n, path, dg*eta[n])
				}
			}
		}
	}
}
