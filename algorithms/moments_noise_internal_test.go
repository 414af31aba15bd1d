package algorithms

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

var curvesCSV = flag.String("curves-csv", "", "write the measured coverage of the noise of curves to this file")

// noiseCoverage is the share of runs on the same records whose ellipsoid of 95 % of the noise of a block has the mean of the block over
// all runs, the noise multiplied by change before.
func noiseCoverage(t *testing.T, a Moments, n int, epsilon float64, change func(*MomentsPlan)) float64 {
	t.Helper()
	const d, runs = 6, 150
	a.Blocks = []int{3, 1, 2}
	p := clipLaw(5, d, 0.3, false)
	spec := must.Get(NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, 0, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, Certified))(t)
	plan := must.Get(a.Plan(spec))(t)
	claimed := *plan
	own := *plan.Moments()
	claimed.own = &own
	change(&own)
	ev := must.Get(plan.Spec.Kernel.Bind(p.draw(t, rand.New(rand.NewPCG(3, 3)), n)))(t)
	var all [][]float64
	mean := make([]float64, d)
	for run := range runs {
		session := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(uint64(7000+run)), plan.Events()))(t)
		w := must.Get(a.Train(context.Background(), ev, &claimed, session, Tracker{}))(t)
		if len(w) != d+6+1+3 {
			t.Fatalf("%d numbers", len(w))
		}
		if run == 0 { // the same noise gives the same model without Blocks: they are post-processing
			bare, again := a, privacy.NewSeededSource(7000)
			bare.Blocks = nil
			session = must.Get(privacy.NewPublicSession(again, plan.Events()))(t)
			if same, err := bare.Train(context.Background(), ev, &claimed, session, Tracker{}); err != nil || !slices.Equal(same, w[:d]) {
				t.Fatalf("%v with Blocks and %v without: %v", w[:d], same, err)
			}
		}
		all = append(all, w)
		for k := range mean {
			mean[k] += w[k] / runs
		}
	}
	in := 0
	limits := map[int]float64{1: 3.841, 2: 5.991, 3: 7.815}
	for _, w := range all {
		first, rest := 0, w[d:]
		for _, k := range a.Blocks {
			c := mat.NewSymDense(k, nil)
			for i := range k {
				for j := range i + 1 {
					c.SetSym(i, j, rest[0])
					rest = rest[1:]
				}
			}
			off := mat.NewVecDense(k, nil)
			for i := range k {
				off.SetVec(i, w[first+i]-mean[first+i])
			}
			var chol mat.Cholesky
			if !chol.Factorize(c) {
				t.Fatal("a covariance is not positive")
			}
			var solved mat.VecDense
			must.Do(t, chol.SolveVecTo(&solved, off))
			if mat.Dot(off, &solved) <= limits[k] {
				in++
			}
			first += k
		}
	}
	return float64(in) / float64(runs*len(a.Blocks))
}

// TestNoiseOfWeightsCovers: the covariances that Blocks appends cover the noise, with and without logistic steps, but for the noise of
// a released centre, which they leave out. Without the noise of the signed sum, of the matrix or of the steps, where that part is large, they
// are too small.
func TestNoiseOfWeightsCovers(t *testing.T) {
	text := "# regions of 95 % of the noise of blocks of weights, and the share of 450 that have the mean over 150 noises; written by go test ./algorithms -run TestNoiseOfWeightsCovers -curves-csv FILE\n" +
		"run,n,epsilon,centre,covered\n"
	for _, c := range []struct {
		name    string
		a       Moments
		n       int
		epsilon float64
	}{
		{"2 steps", Moments{Steps: 2}, 4000, 1}, {"2 steps", Moments{Steps: 2}, 8000, 4}, {"1 step", Moments{Steps: 1}, 4000, 2},
		{"no steps", Moments{}, 4000, 1}, {"no steps, diagonal", Moments{Second: "diagonal"}, 4000, 1},
	} {
		for _, centre := range []string{"public", "released"} {
			least := 0.87
			if c.a.Centre, c.a.Balance = nil, 0; centre == "public" {
				c.a.Centre, c.a.Balance, least = []float64{0}, 0.3, 0.92
			}
			got := noiseCoverage(t, c.a, c.n, c.epsilon, func(*MomentsPlan) {})
			text += fmt.Sprintf("%s,%d,%g,%s,%.3f\n", strings.ReplaceAll(c.name, ",", ""), c.n, c.epsilon, centre, got)
			must.AtLeast(t, got, least, "%s, n = %d, epsilon %g, %s centre: %.3f of the regions of 95 %% cover", c.name, c.n, c.epsilon, centre, got)
		}
	}
	known := Moments{Centre: []float64{0}, Balance: 0.3}
	steps, matrix := known, known
	steps.Steps, matrix.SecondShare = 2, 0.02
	for name, got := range map[string]float64{
		"steps":      noiseCoverage(t, steps, 4000, 1, func(m *MomentsPlan) { m.StepNoise /= 4 }),
		"signed sum": noiseCoverage(t, known, 4000, 1, func(m *MomentsPlan) { m.SumNoise /= 4 }),
		"matrix":     noiseCoverage(t, matrix, 4000, 1, func(m *MomentsPlan) { m.SecondNoise /= 4 }),
	} {
		if t.Logf("without the noise of the %s: %.3f", name, got); got > 0.85 {
			t.Errorf("regions without the noise of the %s cover %.3f", name, got)
		}
	}
	if t.Log(text); *curvesCSV != "" {
		must.Do(t, os.WriteFile(*curvesCSV, []byte(text), 0o666))
	}
}
