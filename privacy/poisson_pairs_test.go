package privacy_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

func pairSample(group int, rate float64) privacy.PairSample {
	return privacy.PairSample{Group: group, Pairs: 4000, Rate: rate, Expected: 4000 * rate, Roundoff: 1e-13}
}

// The noise is the least for which the total grants the budget: it meets it, a thousandth
// less does not, and it is below what known batches and a larger group need.
func TestCalibratePoissonPairs(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	b := privacy.Budget{Epsilon: 1.5, Delta: 1e-6}
	const releases = 60
	last := 0.0
	for _, group := range []int{1, 4, 8} {
		c := must.Get(pairSample(group, 0.03).Certify())(t)
		m := must.Get(privacy.CalibrateGaussian(c, b, releases))(t)
		epsilon := func(sigma float64) float64 {
			var a account.Total
			must.Do(t, a.Compose(account.Repeat(privacy.Gaussian{Sigma: sigma}.Event(c), releases)))
			return a.Epsilon(b.Delta)
		}
		must.AtMost(t, epsilon(m.Sigma), b.Epsilon, "group %d: epsilon", group)
		must.Above(t, epsilon(m.Sigma*0.999), b.Epsilon, "group %d: a thousandth less noise is enough", group)
		known := privacy.UnsampledSigma(c, b, releases)
		if want := 2 * float64(group) * c.Sensitivity() * math.Sqrt(releases) / account.GDPMu(b.Epsilon, b.Delta); math.Abs(known-want) > 1e-12*want || !(m.Sigma < known) {
			t.Errorf("group %d: sigma %v, of known batches %v, want %v", group, m.Sigma, known, want)
		}
		must.Above(t, m.Sigma, last, "group %d: sigma %v, not above %v of a smaller group", group, m.Sigma, last)
		last = m.Sigma
	}
	c := must.Get(pairSample(2, 0.1).Certify())(t)
	must.Err(privacy.CalibratePure(c, 1, 3, privacy.KNormNoise))(t, "pure epsilon on Poisson batches: no error")
}

func TestPairSampleRefuses(t *testing.T) {
	for name, change := range map[string]func(*privacy.PairSample){
		"no group":    func(g *privacy.PairSample) { g.Group = 0 },
		"large group": func(g *privacy.PairSample) { g.Group = account.MaxGroup + 1 },
		"no pairs":    func(g *privacy.PairSample) { g.Pairs = 0 },
		"rate 0":      func(g *privacy.PairSample) { g.Rate = 0 },
		"rate NaN":    func(g *privacy.PairSample) { g.Rate = math.NaN() },
		"expected":    func(g *privacy.PairSample) { g.Expected = 0 },
		"roundoff":    func(g *privacy.PairSample) { g.Roundoff = -1 },
	} {
		g := pairSample(2, 0.1)
		change(&g)
		must.Err(g.Certify())(t, "%s: no error", name)
	}
}

// A release about a Poisson batch needs a draw of its own, of the planned rate from the
// planned number of pairs; the ledger has the event exactly, and its total.
func TestPoissonSession(t *testing.T) {
	c := must.Get(pairSample(3, 0.1).Certify())(t)
	noise := privacy.Gaussian{Sigma: 0.05}
	event := account.Repeat(noise.Event(c), 2)
	path := filepath.Join(t.TempDir(), "ledger")
	l := must.Get(ledger.Open(path))(t)
	s := must.Get(l.Begin(ledger.Charge{DataID: "d", Algorithm: "pairs", Events: []account.Event{event}}, privacy.NewSeededSource(1)))(t)
	release := func(draw func() error) error {
		must.Do(t, draw())
		x := []float64{1, 2}
		err := s.Release(x, c, noise)
		if err != nil && (x[0] != 0 || x[1] != 0) {
			t.Error("a refused release was not zeroed")
		}
		return err
	}
	poisson := func(n int, rate float64) func() error {
		return func() error {
			_, err := s.SamplePoisson(nil, n, rate)
			return err
		}
	}
	for name, draw := range map[string]func() error{
		"no draw":        func() error { return nil },
		"another rate":   poisson(4000, 0.2),
		"fewer pairs":    poisson(3999, 0.1),
		"a fixed sample": func() error { return s.Sample(make([]int32, 4000), 400) },
	} {
		must.FailDo(t, release(draw), privacy.ErrUnplanned, name)
	}
	for range 2 {
		must.CheckDo(t, release(poisson(4000, 0.1)), "as planned")
	}
	must.FailDo(t, release(poisson(4000, 0.1)), privacy.ErrUnplanned, "a third release")
	l = must.Get(ledger.Open(path))(t)
	entries, err := l.Entries()
	if err != nil || len(entries) != 1 || entries[0].Charge.Events[0] != event {
		t.Fatalf("the ledger has %v, %v; want %v", entries, err, event)
	}
	var a account.Total
	must.Do(t, a.Compose(event))
	must.Equal(t, must.Get(l.Summary("d", 1e-6))(t).Epsilon, a.Epsilon(1e-6), "the ledger says")
	removed := event.(account.RepeatedEvent).Event.(account.PoissonEvent)
	removed.Relation = account.AddRemove
	must.Err(privacy.NewPublicSession(privacy.NewSeededSource(1), []account.Event{removed}))(t, "a session takes add/remove neighbours")
	must.Err(l.Begin(ledger.Charge{DataID: "d", Algorithm: "pairs", Events: []account.Event{removed}}, privacy.NewSeededSource(1)))(t, "the ledger takes add/remove neighbours")
}

// Each of n enters with the rate, independently of its neighbour, and all do at rate 1.
func TestSamplePoisson(t *testing.T) {
	const n, runs, rate = 50, 20_000, 0.3
	src := privacy.NewSeededSource(7)
	var each [n]int
	both, size2 := 0, 0.0
	var batch []int32
	for range runs {
		var err error
		if batch, err = src.SamplePoisson(batch, n, rate); err != nil || !slices.IsSorted(batch) {
			t.Fatalf("%v, %v", batch, err)
		}
		for _, i := range batch {
			each[i]++
		}
		if slices.Contains(batch, 3) && slices.Contains(batch, 4) {
			both++
		}
		d := float64(len(batch)) - n*rate
		size2 += d * d
	}
	sd := math.Sqrt(runs * rate * (1 - rate))
	for i, got := range each {
		must.Near(t, float64(got), runs*rate, 6*sd, "%d was drawn %d times of %d", i, got, runs)
	}
	if want := runs * rate * rate; math.Abs(float64(both)-want) > 6*math.Sqrt(want) {
		t.Errorf("two were drawn together %d times, want %v", both, want)
	}
	must.Near(t, size2/runs, n*rate*(1-rate), 0.06*n*rate*(1-rate), "variance over that of the size")
	must.Equal(t, len(must.Get(src.SamplePoisson(nil, n, 1))(t)), n, "rate 1")
	for _, bad := range []float64{0, -1, 1.5, math.NaN()} {
		must.Err(src.SamplePoisson(nil, n, bad))(t, "rate %v: no error", bad)
	}
}

// Noise of pure epsilon on a Poisson batch is not certified: its event, which a session would
// plan and a ledger charge, is out of range. It was PureEvent with the sensitivity of one record
// added over the scale, up to 2 Group times too little.
func TestPoissonBatchesHaveNoPureNoise(t *testing.T) {
	c := must.Get(pairSample(3, 1).Certify())(t)
	for _, m := range []privacy.Mechanism{privacy.KNorm{Scale: 1}, privacy.Laplace{Scale: 1, Coordinates: 4}} {
		e := m.Event(c)
		var a account.GDP
		must.ErrDo(t, a.Compose(e), "%v is accounted for with epsilon %v", e, a.Epsilon(0))
	}
}
