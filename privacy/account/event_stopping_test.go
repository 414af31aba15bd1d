package account

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"dyad/internal/must"
)

// selectionCells cut the line into cells of N(0, 1) and N(mu, 1): the laws of one run on two
// neighbours, in the order of the scores, worst first.
type selectionCells struct{ p, q []float64 }

type scoredCell struct{ p, q, score float64 }

// byScore are the cells in the order of their scores.
func byScore(all []scoredCell) (s selectionCells) {
	slices.SortStableFunc(all, func(a, b scoredCell) int { return cmp.Compare(a.score, b.score) })
	for _, c := range all {
		s.p, s.q = append(s.p, c.p), append(s.q, c.q)
	}
	return s
}

// scored are the cells of a run that releases z and the score of z.
func scored(mu float64, score func(z float64) float64) selectionCells {
	const cells = 4000
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	mass := func(a, b float64) float64 { // without cancellation
		if a > 0 {
			a, b = -b, -a
		}
		return phi(b) - phi(a)
	}
	all := make([]scoredCell, cells)
	for i := range all {
		a := -9 + (18+mu)*float64(i)/cells
		b := -9 + (18+mu)*float64(i+1)/cells
		all[i] = scoredCell{mass(a-mu, b-mu), mass(a, b), score((a + b) / 2)}
	}
	return byScore(all)
}

// best is the law of the best of K runs, weights[k-1] the probability of K = k.
func best(law, weights []float64) []float64 {
	generating := func(x float64) (sum float64) {
		for k := len(weights); k >= 1; k-- {
			sum = (sum + weights[k-1]) * x
		}
		return sum
	}
	out, below, before := make([]float64, len(law)), 0.0, 0.0
	for i, v := range law {
		below = min(below+v, 1)
		now := generating(below)
		out[i], before = now-before, now
	}
	return out
}

func hockeyOf(p, q []float64, epsilon float64) float64 {
	one, other := 0.0, 0.0
	for i := range p {
		one += max(0, p[i]-math.Exp(epsilon)*q[i])
		other += max(0, q[i]-math.Exp(epsilon)*p[i])
	}
	return max(one, other)
}

func uniformRuns(n int) []float64 { return slices.Repeat([]float64{1 / float64(n)}, n) }

func exactlyRuns(n int) []float64 {
	w := make([]float64, n)
	w[n-1] = 1
	return w
}

// lossOf is the epsilon at delta of two laws.
func lossOf(p, q []float64, delta float64) float64 {
	low, high := 0.0, 50.0
	for range 24 {
		if mid := (low + high) / 2; hockeyOf(p, q, mid) > delta {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// attackOf is the largest epsilon over orders of the scores. The worst ones prefer what the other
// neighbour makes more likely, but for a tail.
func attackOf(mu, delta float64, p, q []float64) float64 {
	orders := []func(z float64) float64{
		func(z float64) float64 { return z },
		func(z float64) float64 { return -z },
		math.Abs,
	}
	for cut := 0.0; cut <= 3; cut += 0.5 {
		orders = append(orders, func(z float64) float64 {
			if z > cut {
				return 100 + z
			}
			return -z
		}, inserted(cut, -1))
	}
	largest := 0.0
	for _, score := range orders {
		c := scored(mu, score)
		largest = max(largest, lossOf(best(c.p, p), best(c.q, q), delta))
	}
	return largest
}

// The exact law of what is selected never loses more than the event says, and nearly as much for
// the worst scores. A number of runs that is known, or larger for one of the neighbours, loses more.
func TestRandomStoppingIsAttained(t *testing.T) {
	for _, c := range []struct {
		mu, delta, share float64
		runs             int
	}{{0.15, 1e-6, 0.99, 20}, {1, 1e-6, 0.99, 8}, {0.3, 1e-3, 0.97, 32}} {
		var claim Total
		must.Do(t, claim.Compose(RandomStoppingEvent{Mu: c.mu, Runs: c.runs}))
		says := claim.Epsilon(c.delta)
		got := attackOf(c.mu, c.delta, uniformRuns(c.runs), uniformRuns(c.runs))
		must.Within(t, got, c.share*says, says, "mu %v, 1 to %d runs: epsilon", c.mu, c.runs)
		t.Logf("mu %v, 1 to %d runs, delta %v: %.1f %% of the claim is attained", c.mu, c.runs, c.delta, 100*got/says)
		for name, weights := range map[string][2][]float64{
			"the number is known":            {exactlyRuns(c.runs), exactlyRuns(c.runs)},
			"the number depends on the data": {exactlyRuns(c.runs), exactlyRuns(1)},
		} {
			must.Above(t, attackOf(c.mu, c.delta, weights[0], weights[1]), says, "mu %v, 1 to %d runs: %s, and epsilon is", c.mu, c.runs, name)
		}
	}
}

// The divergence is at least that of the exact laws at every order, and that of one run for one run.
func TestRandomStoppingDivergence(t *testing.T) {
	for _, mu := range []float64{0.05, 0.4, 2} {
		for _, runs := range []int{1, 2, 16, 256} {
			claim := RandomStoppingEvent{Mu: mu, Runs: runs}.facts().renyi
			c := scored(mu, func(z float64) float64 { return -z })
			p, q := best(c.p, uniformRuns(runs)), best(c.q, uniformRuns(runs))
			for _, alpha := range []float64{1.5, 4, 32} {
				sum := 0.0
				for i := range p {
					if p[i] > 0 && q[i] > 0 {
						sum += math.Exp(alpha*math.Log(p[i]) - (alpha-1)*math.Log(q[i]))
					}
				}
				if exact := math.Log(sum) / (alpha - 1); exact > claim(alpha)*(1+1e-9) {
					t.Errorf("mu %v, %d runs, order %v: divergence %v above %v", mu, runs, alpha, exact, claim(alpha))
				}
				if one := alpha * mu * mu / 2; runs == 1 && claim(alpha) > one*(1+1e-9) {
					t.Errorf("one run of mu %v: %v, want %v", mu, claim(alpha), one)
				}
			}
		}
	}
}

// What else is spent adds up with a selection: by Renyi divergences or by pure epsilons.
func TestRandomStoppingComposes(t *testing.T) {
	selection := RandomStoppingEvent{Mu: 0.1, Runs: 20}
	alone, with, order := new(Total), new(Total), new(Total)
	for _, e := range []Event{selection, GaussianEvent{Sensitivity: 1, Sigma: 10}, PureEvent{Epsilon: 0.2}} {
		must.Do(t, with.Compose(e))
	}
	must.Do(t, order.Compose(ComposedEvent{[]Event{PureEvent{Epsilon: 0.2}, ComposedEvent{[]Event{GaussianEvent{Sensitivity: 1, Sigma: 10}, selection}}}}))
	must.Do(t, alone.Compose(selection))
	a, b := with.Epsilon(1e-6), order.Epsilon(1e-6)
	if math.Abs(a-b) > 1e-12 || !(a > alone.Epsilon(1e-6)) || !(a < with.gdp.Epsilon(1e-6)) {
		t.Errorf("together %v and %v, alone %v, by mu %v", a, b, alone.Epsilon(1e-6), with.gdp.Epsilon(1e-6))
	}
	if !with.Sampled() {
		t.Error("mu is said to be all there is to know")
	}
	must.AtMost(t, with.Delta(a), 1e-6*(1+1e-6), "delta at the epsilon of 1e-6")
}

// Ledgers read back what they would have written and nothing else, and events at the ends of their range
// have a cost that neither falls with mu or runs nor is below that of one run.
func TestRandomStoppingOutOfRange(t *testing.T) {
	for _, raw := range []string{
		`{"kind":"random-stopping","mu":0.1,"runs":0,"count":1}`,
		`{"kind":"random-stopping","mu":0.1,"runs":-3,"count":1}`,
		`{"kind":"random-stopping","mu":0.1,"runs":257,"count":1}`,
		`{"kind":"random-stopping","mu":0.1,"runs":2.5,"count":1}`,
		`{"kind":"random-stopping","mu":0,"runs":4,"count":1}`,
		`{"kind":"random-stopping","mu":-1,"runs":4,"count":1}`,
		`{"kind":"random-stopping","mu":NaN,"runs":4,"count":1}`,
		`{"kind":"random-stopping","mu":"NaN","runs":4,"count":1}`,
		`{"kind":"random-stopping","mu":1e999,"runs":4,"count":1}`,
		`{"kind":"random-stopping","mu":0.1,"runs":4,"count":0}`,
		`{"kind":"random-stopping","mu":0.1,"runs":4}`,
		`{"kind":"random-stopping","mu":0.1,"runs":4,"count":1,"law":"geometric"}`,
		`{"kind":"random-stopping","mu":0.1,"runs":4,"runs":256,"count":1}`,
		`{"kind":"random-stopping","MU":0.1,"runs":4,"count":1}`,
		`{"kind":"random-stopping","runs":4,"count":1}`,
	} {
		if e, ok := Decode([]byte(raw)).(UnknownEvent); !ok {
			t.Errorf("%s was read as %v", raw, e)
		}
		var total Total
		if total.Compose(Decode([]byte(raw))) == nil {
			t.Errorf("%s was composed", raw)
		}
	}
	for _, delta := range []float64{1e-12, 1e-5} {
		for _, runs := range []int{1, 2, MaxRuns} {
			before := 0.0
			for _, mu := range []float64{math.SmallestNonzeroFloat64, 1e-160, 1e-9, 0.01, 0.5, 5, 29.9, 30.1, 1e5, 1e155, math.MaxFloat64} {
				e := RandomStoppingEvent{Mu: mu, Runs: runs}
				raw, err := Encode(e)
				if err != nil || Decode(raw) != Event(e) {
					t.Fatalf("%v: %s, %v", e, raw, err)
				}
				var total Total
				must.Do(t, total.Compose(e))
				got, one := total.Epsilon(delta), GDPEpsilon(mu, delta)
				// A conversion from Renyi divergences is no exact one: that of one run by its mu is better.
				if math.IsNaN(got) || got < before*(1-1e-9) || got < one*(1-1e-9) || got > GDPEpsilon(math.Sqrt(float64(runs))*mu, delta)*(1+1e-9) {
					t.Errorf("%v at delta %v: epsilon %v, one run %v, smaller mu %v", e, delta, got, one, before)
				}
				before = got
			}
		}
	}
}
