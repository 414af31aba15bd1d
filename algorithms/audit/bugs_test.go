package audit_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

// twice releases the exact vectors v and v/2 of a descent, the second one outside the
// session with noise that a bug makes.
type twice struct {
	algorithms.DPGDSC
	second func(v, released []float64, p *algorithms.Plan) ([]float64, error)
}

func (a twice) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	catch := &attack.Recorder{Session: s}
	if _, err := a.DPGDSC.Train(ctx, ev, p, catch, t); err != nil {
		return nil, err
	}
	first := catch.Made(attack.Release)[0] // the only one
	second, err := a.second(first.Before, first.After, p)
	return append(first.After, second...), err
}

// The noise of the first release again: (v+z) - (v/2+z) is exact.
func reusedNoise(v, released []float64, _ *algorithms.Plan) ([]float64, error) {
	out := make([]float64, len(v))
	for k := range v {
		out[k] = v[k]/2 + (released[k] - v[k])
	}
	return out, nil
}

// Noise from a generator that starts from the same seed in every run.
func seededNoise(v, _ []float64, p *algorithms.Plan) ([]float64, error) {
	s, err := privacy.NewPublicSession(privacy.NewSeededSource(1), p.Events())
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(v))
	for k := range v {
		out[k] = v[k] / 2
	}
	return out, s.Release(out, p.Certificate(), p.Noise())
}

func TestReusedNoiseIsCaught(t *testing.T) {
	for name, second := range map[string]func(v, released []float64, p *algorithms.Plan) ([]float64, error){
		"same noise twice": reusedNoise, "same noise in every run": seededNoise,
	} {
		a := twice{descent, second}
		for _, access := range []audit.Access{audit.WhiteBox, audit.BlackBox} {
			r := mustRun(t, structured(plan(t, a, audit.Linear{}, 30, 2, approximate), a), audit.Options{Runs: 1000, Seed: 5, Access: access})
			if !(r.Bounds[0].Epsilon > 3) || !strings.Contains(r.Bounds[0].Attack, "result") {
				t.Errorf("%s, %v: %+v, want an epsilon above 3 from the result", name, access, r.Bounds)
			}
		}
	}
}

// Noise vectors that repeat are counted, fresh ones are not.
func TestRepeatedNoiseIsCounted(t *testing.T) {
	observations := func(source func(i int) *privacy.Source) (runs []audit.Observation) {
		p := plan(t, descent, audit.Linear{}, 30, 4, approximate)
		m := p.Noise()
		for i := range 200 {
			s := must.Get(privacy.NewPublicSession(source(i), p.Events()))(t)
			v := []float64{0.1 * float64(i), 0.2, -float64(i) / 7, 1}
			r := attack.Call{Before: append([]float64(nil), v...), Noise: m}
			must.Do(t, s.Release(v, p.Certificate(), m))
			r.After = v
			runs = append(runs, audit.Observation{Releases: []attack.Call{r}})
		}
		return runs
	}
	must.Equal(t, audit.Repeated(observations(func(i int) *privacy.Source { return privacy.NewSeededSource(uint64(i)) })), 0, "... fresh noise vectors repeat")
	if n := audit.Repeated(observations(func(int) *privacy.Source { return privacy.NewSeededSource(1) })); n < 100 {
		t.Errorf("%d of 200 equal noise vectors are found", n)
	}
}

// The set of released values must be the grid, for both data sets; noise of package
// math/rand on a float64 fails.
func TestFloatNoiseIsOffGrid(t *testing.T) {
	for _, b := range []privacy.Budget{approximate, pure} {
		sound := structured(plan(t, descent, audit.Linear{}, 30, 2, b), descent)
		if r := mustRun(t, sound, audit.Options{Runs: 500, Seed: 2}); r.OffGrid != 0 || r.Values != 2*500*2 {
			t.Errorf("%d of %d released values are off the grid", r.OffGrid, r.Values)
		}
	}
	m := privacy.Gaussian{Sigma: 0.5, Grid: 0x1p-30}
	rng := rand.New(rand.NewPCG(1, 2))
	var naive []audit.Observation
	for range 1000 {
		v := []float64{0.3 + m.Sigma*rng.NormFloat64(), m.Sigma * rng.NormFloat64()}
		naive = append(naive, audit.Observation{Releases: []attack.Call{{After: v, Noise: m}}})
	}
	if values, off := audit.OffGrid(naive); off < values/2 {
		t.Errorf("float noise: %d of %d values are off the grid", off, values)
	}
	// The same values rounded to the grid pass.
	for _, o := range naive {
		for k, v := range o.Releases[0].After {
			o.Releases[0].After[k] = math.Round(v*0x1p30) / 0x1p30
		}
	}
	if _, off := audit.OffGrid(naive); off != 0 {
		t.Errorf("rounded to the grid %d values are off", off)
	}
}

// One run of canaries refutes noise/1024 and not the right noise.
func TestCanaries(t *testing.T) {
	const n, d = 512, 128
	for _, b := range []privacy.Budget{approximate, pure} {
		sound := plan(t, descent, audit.Linear{}, n, d, b)
		refuted := 0
		for seed := range uint64(seeds(20)) {
			r := must.Get(audit.Canaries(context.Background(), descent, sound, audit.CanaryOptions{Seed: seed}))(t)
			if !r.Holds() {
				refuted++
			}
		}
		if refuted > 0 { // probability at most 0.001 a seed
			t.Errorf("the right noise was refuted by %d seeds", refuted)
		}
		loud := *sound
		loud.Releases = slices.Clone(sound.Releases)
		switch m := loud.Noise().(type) {
		case privacy.Gaussian:
			m.Sigma, m.Grid = m.Sigma/1024, m.Grid/1024
			loud.Releases[0].Noise = m
		case privacy.KNorm:
			m.Scale, m.Grid = m.Scale/1024, m.Grid/1024
			loud.Releases[0].Noise = m
		}
		r := must.Get(audit.Canaries(context.Background(), descent, &loud, audit.CanaryOptions{Seed: 1}))(t)
		t.Logf("delta %g, noise/1024: %s, %+v", b.Delta, r.Instance, r.Bounds)
		if r.Holds() {
			t.Errorf("noise/1024 holds: %+v", r.Bounds)
		}
	}
	for _, o := range []audit.CanaryOptions{{Canaries: d + 1}, {Canaries: 4, Guesses: 5}, {Canaries: -1}, {Confidence: 2}} {
		must.Err(audit.Canaries(context.Background(), descent, plan(t, descent, audit.Linear{}, n, d, pure), o))(t, "%+v was accepted", o)
	}
}

// Three releases share a sensitivity, and each of them moves by 0.9 of it: together by 1.56 of it. With rows nothing would be found.
func TestJointCertificatesAreComparedTogether(t *testing.T) {
	c := must.Get(privacy.PairGroup{Group: 1, Batch: 1, Batches: 3, Epochs: 1, Roundoff: 1e-15}.Certify())(t)
	noise := must.Get(privacy.CalibrateGaussian(c, privacy.Budget{Epsilon: 1, Delta: 1e-5}, 1))(t)
	p := &algorithms.Plan{Releases: algorithms.Releases{{Coordinates: 1, Share: 1, Certificate: c, Noise: noise}}}
	p.Guarantee.Kind = privacy.ApproxDP
	target := audit.OnPlan(p, "", func(_ context.Context, neighbour bool, s privacy.Session) ([]float64, error) {
		for range 3 {
			x := []float64{0}
			if neighbour {
				x[0] = 0.9 * c.Sensitivity()
			}
			if err := s.Release(x, c, noise); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if move, err := target.Move(t.Context()); err == nil {
		t.Errorf("a move of %v", move)
	}
	target.Program.Rows = nil
	must.Near(t, must.Get(target.Move(t.Context()))(t), 0.9*math.Sqrt(3), 1e-6, "a move")
}
