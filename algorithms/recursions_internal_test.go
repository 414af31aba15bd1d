package algorithms

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// noiseless is a session that releases exact vectors in a fixed order of records.
type noiseless struct{ privacy.Session }

func (noiseless) Release([]float64, privacy.Certificate, privacy.Mechanism) error { return nil }

func (noiseless) ReleaseExact([]float64) error { return nil }

func (noiseless) Permutation(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(n - 1 - i)
	}
	return order
}

// Without noise each algorithm is the recursion of its mathematics, written here with plain
// loops over pairs.
func TestRecursions(t *testing.T) {
	const n, d, radius = 40, 3, 0.4
	rng := rand.New(rand.NewPCG(3, 3))
	data := randomSample(rng, n, d)
	x, y := []float64{}, data.y
	for _, row := range data.x {
		x = append(x, row...)
	}
	r := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	// iterates are w_0..w_T of descent on the records from..from+size-1 in the
	// session's order.
	iterates := func(w []float64, from, size, steps int, eta, alpha float64) [][]float64 {
		part := sample{}
		for i := from; i < from+size; i++ {
			part.x, part.y = append(part.x, data.x[n-1-i]), append(part.y, data.y[n-1-i])
		}
		w = append([]float64(nil), w...)
		all := [][]float64{append([]float64(nil), w...)}
		for range steps {
			part.descent(w, eta, alpha, radius)
			all = append(all, append([]float64(nil), w...))
		}
		return all
	}
	mean := func(all [][]float64) []float64 {
		m := make([]float64, d)
		for _, w := range all {
			for k := range m {
				m[k] += w[k] / float64(len(all))
			}
		}
		return m
	}
	// pass has the iterates w_1..w_n of a pass in the session's order.
	pass := func(eta []float64, alpha float64) [][]float64 {
		reversed := sample{slices.Clone(data.x), slices.Clone(data.y)}
		slices.Reverse(reversed.x)
		slices.Reverse(reversed.y)
		return reversed.onePass(eta, alpha, radius)
	}
	zero, replaced := make([]float64, d), randomPoint(rng, d)
	const steps, eta, alpha = 12, 0.3, 0.2
	for _, c := range []struct {
		a    Algorithm
		l2   float64
		want func(p *Plan) []float64
	}{
		{DPGDSC{Steps: steps, StepSize: eta}, alpha, func(*Plan) []float64 { return iterates(zero, 0, n, steps, eta, alpha)[steps] }},
		{DPGDC{Steps: steps, StepSize: eta}, 0, func(*Plan) []float64 { return mean(iterates(zero, 0, n, steps, eta, 0)[1:]) }},
		{DPGDC2{Steps: steps, StepSize: eta}, alpha, func(*Plan) []float64 { return mean(iterates(zero, 0, n, steps, eta, alpha)) }},
		{GradientPerturbation{Steps: steps, StepSize: eta}, alpha, func(*Plan) []float64 { return iterates(zero, 0, n, steps, eta, alpha)[steps] }},
		{DPEGD{StepSize: 1}, alpha, func(p *Plan) []float64 {
			w, from := zero, 0
			for _, e := range p.Schedule.Epochs {
				w = mean(iterates(w, from, e.Records, e.Records, e.StepSize, alpha)[1:])
				from += e.Records
			}
			must.Equal(t, from, n, "records of the epochs")
			return w
		}},
		{ProjectedGradient{Steps: steps, StepSize: eta, Plain: true}, alpha, func(*Plan) []float64 { return iterates(zero, 0, n, steps, eta, alpha)[steps] }},
		{OffPairStrC{}, alpha, func(p *Plan) []float64 { return pass(p.Schedule.Eta, alpha)[n-1] }},
		{OffGIGA{}, alpha, func(p *Plan) []float64 {
			sizes := make([]float64, n+1)
			for t := 2; t <= n; t++ {
				b := float64(t - 1)
				sizes[t] = min(2*radius/((p.Spec.Constants.Lipschitz+alpha*radius)*math.Sqrt(b)), 1/(alpha*b))
			}
			return mean(pass(sizes, alpha))
		}},
	} {
		s := must.Get(NewSpec(cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: radius}, c.l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, c.a.Info().Modes[0]))(t)
		p := must.Get(c.a.Plan(s))(t)
		ev := must.Get(p.Spec.Kernel.Bind(r))(t)
		got := must.Get(c.a.Train(context.Background(), ev, p, noiseless{}, Tracker{}))(t)
		want := c.want(p)
		if diff := distance(got, want); diff > 1e-12 || distance(want, zero) < 1e-3 {
			t.Errorf("%s: %v, the plain recursion gives %v", p.Algorithm, got, want)
		}
		// Control: other records give another model.
		data.x[0], replaced = replaced, data.x[0]
		must.AtLeast(t, distance(got, c.want(p)), 1e-9, "%s: the comparison does not see a replaced record", p.Algorithm)
		data.x[0], replaced = replaced, data.x[0]
	}
	must.Err((DPGDSC{}).Train(context.Background(), nil, &Plan{}, noiseless{}, Tracker{}))(t, "a plan without a descent is trained")
}
