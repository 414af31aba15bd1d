package privacy

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// A release about a batch follows a sample of its size, a new one each time.
func TestSessionOfBatches(t *testing.T) {
	c := must.Get(MeanGradient{PairDiameter: 1, PairFraction: 0.5, Batch: 4, Records: 9}.Certify())(t)
	m := Gaussian{Sigma: 2}
	e := m.Event(c).(account.WithoutReplacementEvent)
	if e.Batch != 4 || e.Records != 9 || e.Event != (account.GaussianEvent{Sensitivity: c.Sensitivity(), Sigma: 2}) {
		t.Fatal(e)
	}
	s := must.Get(NewPublicSession(NewSeededSource(1), []account.Event{account.Repeat(e, 2)}))(t)
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
	must.Do(t, s.Sample(order, 3))
	x, err = release()
	wantRefused(t, "a sample of another size", x, err, ErrUnplanned)
	for range 2 {
		must.Do(t, s.Sample(order, 4))
		must.Get(release())(t)
		x, err = release()
		wantRefused(t, "a sample twice", x, err, ErrUnplanned)
	}
	// With the batch known it is an ordinary release, which was not planned.
	plain := testCertificate(t)
	x = []float64{1}
	wantRefused(t, "no batch", x, s.Release(x, plain, m), ErrUnplanned)
	must.Err(NewPublicSession(NewSeededSource(1), []account.Event{account.WithoutReplacementEvent{Event: account.LaplaceEvent{Sensitivity: 1, Scale: 1}, Batch: 2, Records: 4}}))(t, "Laplace noise on batches was planned")
	for _, bad := range []MeanGradient{{PairDiameter: 1, PairFraction: 1, Batch: 1, Records: 5}, {PairDiameter: 1, PairFraction: 1, Batch: 6, Records: 5}, {PairDiameter: 1, PairFraction: 1, Batch: -2, Records: 5}} {
		must.Err(bad.Certify())(t, "%+v was certified", bad)
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
		must.Do(t, src.Sample(order, 3))
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
