package privacy

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A ledger that was written before batches and hidden steps had events gives the same
// total, to the last bit (of the account: pure epsilons are rounded up once now, not in every
// sum), and takes new charges.
func TestLedgerOfEarlierEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	for _, suffix := range []string{"", headSuffix} {
		raw, err := os.ReadFile("testdata/ledger1/ledger.jsonl" + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+suffix, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Summary("clinic", 1e-5)
	if err != nil || s.Runs != 5 || s.Mu != 0.8387204027359596 || s.Epsilon != 2.835303178414157 || s.Cap.Epsilon != 5 {
		t.Fatalf("%+v, %v", s, err)
	}
	if open, err := l.Unfinished("clinic"); err != nil || len(open) != 4 {
		t.Errorf("%d unfinished runs (%v), want 4", len(open), err)
	}
	batch := WithoutReplacementEvent{Law: GaussianLaw, Sensitivity: 0.1, Scale: 0.6, Batch: 20, Records: 400, Count: 50}
	hidden := ConvergentEvent{Gap: 0.01, Contraction: 1, Diameter: 2, Sigma: 0.8, Grid: 0x1p-30, Steps: 1000}
	for i, e := range []Event{batch, hidden} {
		c := testCharge([]string{"batch", "hidden"}[i])
		c.DataID, c.Events = "clinic", []Event{e}
		if _, err := l.Begin(c, NewSeededSource(1)); err != nil {
			t.Fatal(err)
		}
	}
	after, err := l.Summary("clinic", 1e-5)
	if err != nil || after.Mu != 0 || !(after.Epsilon > s.Epsilon) {
		t.Fatalf("%+v, %v", after, err)
	}
	// The total knows the amplification.
	var known GDP
	for _, e := range []Event{GaussianEvent{Sensitivity: s.Mu, Sigma: 1, Count: 1}, hidden, GaussianEvent{Sensitivity: 0.1, Sigma: 0.6, Count: 50}} {
		if err := known.Compose(e); err != nil {
			t.Fatal(err)
		}
	}
	if !(after.Epsilon < 0.8*known.Epsilon(1e-5)) {
		t.Errorf("epsilon %v, with known batches %v", after.Epsilon, known.Epsilon(1e-5))
	}
	if text := after.String(); strings.Contains(text, "GDP") || !strings.Contains(text, "at delta 1e-05") {
		t.Error(text)
	}
	if _, err := l.Begin(Charge{DataID: "clinic", Run: "more", Algorithm: "a", Events: []Event{GaussianEvent{Sensitivity: 1, Sigma: 1, Count: 1}}}, NewSeededSource(1)); !errors.Is(err, ErrBudget) {
		t.Errorf("beyond the cap: %v", err)
	}
}

// With no batches the total is that of GDP; with batches it is at most that of known
// ones, at least that of the rest, and composes any mixture.
func TestTotal(t *testing.T) {
	gauss := GaussianEvent{Sensitivity: 1, Sigma: 5, Count: 3}
	batch := WithoutReplacementEvent{Law: GaussianLaw, Sensitivity: 1, Scale: 1.2, Batch: 10, Records: 200, Count: 40}
	others := []Event{
		gauss, StreamEvent{Sensitivity: 1, Sigma: 4, Count: 9}, PureEvent{Epsilon: 0.1, Count: 2}, LaplaceEvent{Sensitivity: 1, Scale: 9, Count: 1},
		ParallelEvent{Parts: []Event{gauss, PureEvent{Epsilon: 0.2, Count: 1}}}, ParallelEvent{Parts: []Event{PureEvent{Epsilon: 0.3, Count: 1}}},
		ConvergentEvent{Gap: 0.01, Contraction: 1, Diameter: 2, Sigma: 0.3, Grid: 0x1p-30, Steps: 1000},
		PublicEvent{}, ComposedEvent{Events: []Event{gauss, batch}}, ParallelEvent{Parts: []Event{batch, gauss}},
	}
	var withBatch, without Total
	var g GDP
	if err := withBatch.Compose(batch); err != nil {
		t.Fatal(err)
	}
	for _, e := range others {
		if err := withBatch.Compose(e); err != nil {
			t.Errorf("%v: %v", e, err)
		}
		if samples(e) {
			continue
		}
		if err := errors.Join(without.Compose(e), g.Compose(e)); err != nil {
			t.Errorf("%v: %v", e, err)
		}
	}
	for _, delta := range []float64{1e-8, 1e-5, 1e-2} {
		if without.Epsilon(delta) != g.Epsilon(delta) || without.Mu() != g.Mu() || without.Sampled() {
			t.Errorf("without batches: %v, GDP %v", without.Epsilon(delta), g.Epsilon(delta))
		}
		epsilon := withBatch.Epsilon(delta)
		if !(epsilon > without.Epsilon(delta) && epsilon < GDPEpsilon(withBatch.Mu(), delta)) || !withBatch.Sampled() {
			t.Errorf("with batches: %v, without %v, known batches %v", epsilon, without.Epsilon(delta), GDPEpsilon(withBatch.Mu(), delta))
		}
		if d := withBatch.Delta(epsilon); d > delta*(1+1e-6) {
			t.Errorf("delta(%v) = %v, want %v", epsilon, d, delta)
		}
	}
	before := withBatch.Epsilon(1e-5)
	for _, bad := range []Event{unknownEvent{}, ComposedEvent{Events: []Event{batch, unknownEvent{}}}, PoissonEvent{Law: GaussianLaw, Sensitivity: 1, Scale: 1, Rate: 0.1, Relation: AddRemove, Count: 1}, WithoutReplacementEvent{}} {
		if err := withBatch.Compose(bad); err == nil || withBatch.Epsilon(1e-5) != before {
			t.Errorf("%v: %v, epsilon %v, was %v", bad, err, withBatch.Epsilon(1e-5), before)
		}
	}
	if err := withBatch.Compose(NonPrivateEvent{}); err != nil || !math.IsInf(withBatch.Epsilon(1e-5), 1) {
		t.Errorf("a non-private release: %v, %v", err, withBatch.Epsilon(1e-5))
	}
}

// A release about a batch follows a sample of its size, a new one each time.
func TestSessionOfBatches(t *testing.T) {
	c, err := MeanGradient{PairDiameter: 1, Share: 0.5, Batch: 4, Records: 9}.Certify()
	if err != nil {
		t.Fatal(err)
	}
	m := Gaussian{Sigma: 2}
	e := m.Event(c).(WithoutReplacementEvent)
	if e.Batch != 4 || e.Records != 9 || e.Scale != 2 || e.Count != 1 || e.Sensitivity != c.Sensitivity() {
		t.Fatal(e)
	}
	s, err := NewPublicSession(NewSeededSource(1), []Event{Repeat(e, 2)})
	if err != nil {
		t.Fatal(err)
	}
	order := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
	release := func() ([]float64, error) {
		x := []float64{1}
		return x, s.Release(x, c, m)
	}
	x, err := release()
	wantRefused(t, "without a sample", x, err, ErrUnplanned)
	for _, wrong := range []int{0, 10, -1} {
		if s.Sample(order, wrong) == nil {
			t.Errorf("a sample of %d of 9", wrong)
		}
	}
	if err := s.Sample(order, 3); err != nil {
		t.Fatal(err)
	}
	x, err = release()
	wantRefused(t, "a sample of another size", x, err, ErrUnplanned)
	for range 2 {
		if err := s.Sample(order, 4); err != nil {
			t.Fatal(err)
		}
		if _, err := release(); err != nil {
			t.Fatal(err)
		}
		x, err = release()
		wantRefused(t, "a sample twice", x, err, ErrUnplanned)
	}
	// With the batch known it is an ordinary release, which was not planned.
	plain := testCertificate(t)
	x = []float64{1}
	wantRefused(t, "no batch", x, s.Release(x, plain, m), ErrUnplanned)
	if _, err := NewPublicSession(NewSeededSource(1), []Event{WithoutReplacementEvent{Law: LaplaceLaw, Sensitivity: 1, Scale: 1, Batch: 2, Records: 4, Count: 1}}); err == nil {
		t.Error("Laplace noise on batches was planned")
	}
	for _, bad := range []MeanGradient{{PairDiameter: 1, Share: 1, Batch: 1, Records: 5}, {PairDiameter: 1, Share: 1, Batch: 6, Records: 5}, {PairDiameter: 1, Share: 1, Batch: -2, Records: 5}} {
		if _, err := bad.Certify(); err == nil {
			t.Errorf("%+v was certified", bad)
		}
	}
}

// All sets of 3 of 6, in all orders, come equally often, from any starting order, and
// one sample does not tell the next.
func TestSampleIsUniform(t *testing.T) {
	src := NewSeededSource(5)
	order := []int32{3, 1, 5, 0, 2, 4}
	const draws = 120 * 500
	single, joint := map[[3]int32]int{}, map[[2]int32]int{}
	last := int32(-1)
	for range draws {
		if err := src.Sample(order, 3); err != nil {
			t.Fatal(err)
		}
		single[[3]int32(order[:3])]++
		if last >= 0 {
			joint[[2]int32{last, order[0]}]++
		}
		last = order[0]
	}
	chi := func(cells int, each float64, counts func(func(int))) float64 {
		sum, seen := 0.0, 0
		counts(func(k int) { sum += (float64(k) - each) * (float64(k) - each) / each; seen++ })
		return sum + float64(cells-seen)*each
	}
	// Quantiles of chi square at 1e-9: 119 degrees 228, 35 degrees 108.
	if x := chi(120, draws/120, func(f func(int)) {
		for _, k := range single {
			f(k)
		}
	}); x > 228 {
		t.Errorf("ordered sets: chi square %v with 119 degrees of freedom", x)
	}
	if x := chi(36, draws/36.0, func(f func(int)) {
		for _, k := range joint {
			f(k)
		}
	}); x > 108 {
		t.Errorf("pairs of samples: chi square %v with 35 degrees of freedom", x)
	}
}

// RoundToGrid is nearest, exact, and leaves what is no grid's business.
func TestRoundToGrid(t *testing.T) {
	for _, c := range [][2]float64{{0.1, 0}, {0.75, 1}, {-0.75, -1}, {0.5, 0}, {1.5, 2}, {-0.1, 0}, {0x1p60 + 0x1p10, 0x1p60 + 0x1p10}, {math.MaxFloat64, math.MaxFloat64}} {
		x := []float64{c[0]}
		if RoundToGrid(x, 1); math.Float64bits(x[0]) != math.Float64bits(c[1]) {
			t.Errorf("%v becomes %v, want %v", c[0], x[0], c[1])
		}
	}
	x := []float64{math.NaN(), math.Inf(-1), 1e-290}
	if RoundToGrid(x, 0x1p-1000); !math.IsNaN(x[0]) || !math.IsInf(x[1], -1) || math.Abs(x[2]/1e-290-1) > 1e-9 {
		t.Errorf("%v", x)
	}
}
