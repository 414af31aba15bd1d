package account

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
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
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, c := range []float64{1, 1 - 1e-9, 0.9999, 0.99, 0.9, 0.5, 0.01, 0} {
		for _, gap := range []float64{1e-4, 0.03, 1, 40} {
			for _, steps := range []int{1, 2, 3, 7, 60, 400} {
				const d = 2
				got, want := ConvergentSensitivity(gap, c, d, steps), convergentByHand(t, gap, c, d, steps)
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
		got := ConvergentSensitivity(1, x.c, math.Inf(1), x.steps)
		if got < exact*(1-1e-12) || got > exact*(1+1e-11) || math.Abs(got-x.want) > 1e-6 {
			t.Errorf("c = %v, T = %d: mu %.15g, exact %.15g, reference %v", x.c, x.steps, got, exact, x.want)
		}
		// The control: without the noise of the first step it would be too small.
		if short := ConvergentSensitivity(1, x.c, math.Inf(1), x.steps) / math.Sqrt(variance/(variance-1)); x.steps == 5 && short >= exact {
			t.Errorf("the comparison cannot fail: %v", short)
		}
	}
}

// T12, second part: the exact law of the last state of noisy projected descent on
// [-1, 1] with linear losses, by the powers of its transition matrix. The instances and
// the bounds are those of reference/05c.
func TestConvergentMuCoversTheExactLaw(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, x := range []struct {
		eta, sigma float64
		steps      int
		mu         float64
	}{{0.25, 1, 40, 1.5811}, {0.25, 1, 400, 2.8284}, {0.25, 2, 400, 1.4142}, {0.5, 1, 400, 2}} {
		const delta = 0.25 // gradient gap
		mu := ConvergentSensitivity(x.eta*delta, 1, 2, x.steps) / (x.eta * x.sigma)
		must.Near(t, mu, x.mu, 1e-4, "eta %v, sigma %v, T %d: mu", x.eta, x.sigma, x.steps)
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
