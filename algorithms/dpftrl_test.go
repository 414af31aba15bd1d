package algorithms

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// noted is a session that keeps what it releases.
type noted struct {
	privacy.Session
	released [][]float64
}

func (s *noted) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	err := s.Session.Release(x, c, m)
	s.released = append(s.released, slices.Clone(x))
	return err
}

// The iterates are Pi_C[(w_0 - eta S_b)/(1 + eta alpha b)] with S = A C^-1 y for the
// releases y, by dense matrices; and with almost no noise S_b is the sum of the
// gradients, by the definition of the loss.
func TestDPFTRLIsTheFactorisation(t *testing.T) {
	const n, l2 = 40, 0.1
	spec := must.Get(NewStreamSpec(cpu.Backend{}, engine.Problem{N: 2, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1},
		StreamOptions{Horizon: n}, l2, privacy.Budget{Epsilon: 1e6, Delta: 1e-5}, Certified))(t)
	p := must.Get(DPFTRL{}.Plan(spec))(t)
	session := &noted{Session: openStream(t, p, 3)}
	o := must.Get(NewStream(p, session))(t)
	out := feedStream(t, o, n)
	// Forward substitution C x = y, c_j = binom(2j, j)/4^j.
	var x, sums [][]float64
	total, gradients := make([]float64, 2), make([]float64, 2)
	w := make([]float64, 2)
	eta, loss := p.stream().eta(1), engine.Logistic{}
	near := func(what string, b int, got, want []float64, within float64) {
		for k := range got {
			if !(math.Abs(got[k]-want[k]) <= within) {
				t.Fatalf("%s after update %d: %v, want %v", what, b+1, got, want)
			}
		}
	}
	for b, row := range session.released {
		c := 1.0
		for j := 1; j <= b; j++ {
			c *= float64(2*j-1) / float64(2*j)
			for k := range row {
				row[k] -= c * x[b-j][k]
			}
		}
		x = append(x, row)
		zx, zy := streamRecord(b + 2)
		for i := range b + 1 {
			gx, gy := streamRecord(i + 1)
			g := make([]float64, 2)
			loss.AddGrad(g, w, engine.Record{X: zx, Y: zy}, engine.Record{X: gx, Y: gy})
			for k := range g {
				gradients[k] += g[k] / float64(b+1)
			}
		}
		want := make([]float64, 2)
		for k := range total {
			total[k] += row[k]
			want[k] = -eta * total[k] / (1 + eta*l2*float64(b+1))
		}
		sums = append(sums, slices.Clone(total))
		near("prefix sum", b, sums[b], gradients, 0.05)
		engine.ProjectBall(want, 1)
		near("iterate", b, out[b], want, 1e-3)
		w = out[b]
	}
}

// At equal steps the last iterate has less noise than with independent noise, by the
// factors of docs/theory.md#prefix-sums, and the noise hardly grows with the horizon.
func TestDPFTRLNoise(t *testing.T) {
	for n, want := range map[int]float64{64: 10.13 / 7.45, 1024: 41.01 / 15.52} {
		s := streamSpec(t, StreamOptions{Horizon: n}, 0, Certified)
		prefix := must.Get(DPFTRL{}.Plan(s))(t)
		fed := must.Get(OnPairC{}.Plan(s))(t)
		last, _ := prefix.stream().factor.PrefixNoise(prefix.Schedule.Steps)
		gain := fed.Noise().NoiseNorm(1) * math.Sqrt(float64(n-1)) / (prefix.Noise().NoiseNorm(1) * last)
		must.Near(t, gain/want, 1, 0.003, "n = %d: %.4g times less noise, docs/theory.md#prefix-sums has %.4g", n, gain,
			want)
		if g := prefix.Guarantee; g.Epsilon > 1 || g.Epsilon < 0.999 || !(prefix.Regret > 0) {
			t.Errorf("n = %d: %v, regret %v", n, g, prefix.Regret)
		}
	}
	// 10^5 records one by one: the plan and 1000 steps are quick, and the memory is
	// that of 21 vectors each way.
	p := must.Get(DPFTRL{}.Plan(streamSpec(t, StreamOptions{Horizon: 100_000, Buffer: 10}, 0, Certified)))(t)
	o := must.Get(NewStream(p, openStream(t, p, 1)))(t)
	feedStream(t, o, 1000)
	if memory := len(o.prefix.gradients.Memory) + len(o.prefix.noisy.Memory); memory > 2*2*24 {
		t.Errorf("%d numbers of memory", memory)
	}
}

// The regret bounds hold for the expected regret: with the mean over 20 runs, against
// the best of a fine grid of fixed models. Without noise it holds surely.
func TestRegretBound(t *testing.T) {
	const n = 60
	loss := engine.Logistic{}
	value := func(w []float64, step int) (sum float64) {
		zx, zy := streamRecord(step)
		for i := 1; i < step; i++ {
			x, y := streamRecord(i)
			sum += loss.Value(w, engine.Record{X: zx, Y: zy}, engine.Record{X: x, Y: y}) / float64(step-1)
		}
		return sum
	}
	best := math.Inf(1)
	for a := -20; a <= 20; a++ {
		for b := -20; b <= 20; b++ {
			w := []float64{float64(a) / 20, float64(b) / 20}
			if math.Hypot(w[0], w[1]) > 1 {
				continue
			}
			sum := 0.0
			for step := 2; step <= n; step++ {
				sum += value(w, step)
			}
			best = min(best, sum)
		}
	}
	for _, a := range []Stream{DPFTRL{}, OnPairC{}, OnGIGA{}} {
		p := must.Get(a.Plan(streamSpec(t, StreamOptions{Horizon: n}, 0, a.Info().Modes[0])))(t)
		mean := 0.0
		const runs = 20
		for seed := range uint64(runs) {
			o := must.Get(NewStream(p, openStream(t, p, seed)))(t)
			w := make([]float64, 2)
			for step := 1; step <= n; step++ {
				x, y := streamRecord(step)
				if step > 1 {
					mean += value(w, step) / runs
				}
				out := must.Get(o.Step(context.Background(), x, y))(t)
				if out != nil {
					w = out
				}
			}
		}
		t.Logf("%s: regret %.4g, bound %.4g", a.Info().Name, mean-best, p.Regret)
		must.Within(t, mean-best, 0.001*p.Regret, p.Regret, "%s: regret", a.Info().Name)
	}
}

// The average is over the start and all releases but the last ([Huai20]
// equation 6), also with a secret state, where it is not the average of the iterates.
func TestStreamAverage(t *testing.T) {
	for _, a := range []Stream{OnPairC{}, OnPairC{Reading: SecretState}, DPFTRL{}, OnGIGA{}} {
		p := must.Get(a.Plan(streamSpec(t, StreamOptions{Horizon: 30}, 0, a.Info().Modes[0])))(t)
		o := must.Get(NewStream(p, openStream(t, p, 2)))(t)
		if o.Average() != nil {
			t.Error("an average before the first update")
		}
		out := feedStream(t, o, 30)
		want := make([]float64, 2)
		for _, w := range out[:len(out)-1] {
			for k := range want {
				want[k] += w[k] / float64(len(out))
			}
		}
		for k, v := range o.Average() {
			if math.Abs(v-want[k]) > 1e-14 {
				t.Errorf("%T: average %v, want %v", a, o.Average(), want)
			}
		}
	}
}

// A class buffer holds the last records of each class, and a class that is rare stays.
func TestBufferPerClass(t *testing.T) {
	p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: 60, Buffer: 6, PerClass: true, Batch: 2}, 0, Certified)))(t)
	o := must.Get(NewStream(p, openStream(t, p, 1)))(t)
	var marks, labels []float64
	for step := 1; step <= 60; step++ {
		y := -1.0
		if step%13 == 5 {
			y = 1
		}
		x := []float64{float64(step) / 100, 0}
		marks, labels = append(marks, x[0]), append(labels, y)
		must.Get(o.Step(context.Background(), x, y))(t)
		var got, want []float64
		for _, r := range o.held {
			got = append(got, o.x[2*r])
		}
		count := map[float64]int{}
		for i := step - len(o.fresh) - 1; i >= 0; i-- {
			if count[labels[i]]++; count[labels[i]] <= 3 {
				want = append(want, marks[i])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("after record %d the buffer has %v, want %v", step, got, want)
		}
	}
}
