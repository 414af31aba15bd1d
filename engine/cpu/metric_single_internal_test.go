package cpu

import (
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

func plannedSingle(t *testing.T, p engine.Problem, v kernels.Variant) *metricKernel {
	t.Helper()
	k := must.Get(Backend{Workers: 1, Variant: v, Float32: true}.Plan(p))(t)
	return k.(*metricKernel)
}

// coarseBlock is a MetricBlock32 with a defect: it rounds sums over all columns of a row to
// 4 bits, so that a record changes errors of terms that are not its own.
type coarseBlock struct{ kernels.MetricBlock32 }

func (b coarseBlock) Sums(cx, row []float64) {
	b.MetricBlock32.Sums(cx, row)
	for i, v := range cx {
		f, e := math.Frexp(v)
		cx[i] = math.Ldexp(math.RoundToEven(f*16)/16, e)
	}
}

// TestSingleNeighbours attacks NeighbourRoundoff: the change of the error when one record
// becomes its opposite, for places in and between tiles and spans, and for records that are
// random or all but one equal, so that all roundings go the same way. The control is coarseBlock.
func TestSingleNeighbours(t *testing.T) {
	const n = 600
	for _, v := range kernels.Variants() {
		if v == kernels.Generic && testing.Short() {
			continue
		}
		for _, d := range []int{1, 5} {
			for _, equal := range []bool{false, true} {
				r, w := metricData(t, n, d)
				x, y := append([]float64(nil), r.Dense()...), append([]float64(nil), r.Labels()...)
				if equal {
					for i := range y {
						copy(x[i*d:], x[:d])
						y[i] = 0.9
					}
				}
				p, pairs := metricProblem(n, d), engine.AllPairs{N: n}
				exact, single := planned(t, p, 1), plannedSingle(t, p, v)
				broken := *single
				set := *single.set
				broken.set = &set
				set.NewMetricBlock32 = func(rows, d int) kernels.MetricBlock32 {
					return coarseBlock{single.set.NewMetricBlock32(rows, d)}
				}
				all := []*metricKernel{exact, single, &broken}
				var before, changes [3][]float64
				for i, k := range all {
					before[i] = gradSum(t, k, adopt(t, x, y, d), w, pairs)
				}
				bound := single.Bounds(engine.Query{Pairs: pairs}).OneRecord()
				var most, bad float64
				for _, at := range []int{0, 500, n - 1} {
					far, label := append([]float64(nil), x...), append([]float64(nil), y...)
					for a := range d {
						far[at*d+a] *= -1
					}
					label[at] = -1
					next := adopt(t, far, label, d)
					for i, k := range all {
						changes[i] = gradSum(t, k, next, w, pairs)
						for a, v := range before[i] {
							changes[i][a] -= v
						}
					}
					most, bad = max(most, norm2(changes[1], changes[0])), max(bad, norm2(changes[2], changes[0]))
				}
				t.Logf("%v d=%d equal=%v: the error changes by %.2g of the bound, with a defect by %.2g", v, d, equal, most/2/bound, bad/2/bound)
				if !(most <= 2*bound) || most < 100*exact.Bounds(engine.Query{Pairs: pairs}).Sum/float64(n) {
					t.Errorf("%v d=%d equal=%v: the error changes by %v, bound %v", v, d, equal, most, 2*bound)
				}
				if bad <= 2*bound {
					t.Errorf("%v d=%d equal=%v: a defect changes it by %v only, bound %v", v, d, equal, bad, 2*bound)
				}
				must.Within(t, bound, 0, single.Bounds(engine.Query{Pairs: pairs}).Sum, "NeighbourRoundoff")
			}
		}
	}
}

func adopt(t *testing.T, x, y []float64, d int) *engine.Records {
	t.Helper()
	return must.Get(engine.NewRecords(slices.Clone(x), slices.Clone(y), d, engine.UnitBounds()))(t)
}

// TestSingleShare: what float32 adds to the sensitivity of one gradient does not grow with
// n and is below 0.3 %; the distance to the exact gradient adds far more for many records.
func TestSingleShare(t *testing.T) {
	for _, d := range []int{2, 32, 128} {
		for _, n := range []int{1000, 100000, 10000000} {
			p := metricProblem(n, d)
			k := plannedSingle(t, p, kernels.Best)
			c := must.Get(p.Loss.Constants(p.Bounds, p.Radius))(t)
			pairs := engine.AllPairs{N: n}
			sensitivity := float64(pairs.MaxPerRecord()) * c.PairDiameter
			near, far := 2*k.Bounds(engine.Query{Pairs: pairs}).OneRecord()/sensitivity, 2*k.Bounds(engine.Query{Pairs: pairs}).Sum/sensitivity
			t.Logf("d=%d n=%d: %.2g of the sensitivity, by the distance %.2g", d, n, near, far)
			if near > 0.003 || n > 10000 && far < 20*near {
				t.Errorf("d=%d n=%d: %.2g of the sensitivity, by the distance %.2g", d, n, near, far)
			}
		}
	}
}

func TestPlanSingle(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*engine.Problem)
		ok     bool
	}{
		"unit bounds":    {func(*engine.Problem) {}, true},
		"large radius":   {func(p *engine.Problem) { p.Radius = 19 }, true},
		"margins":        {func(p *engine.Problem) { p.Radius = 20 }, false},
		"tiny features":  {func(p *engine.Problem) { p.Bounds.FeatureNorm = 1e-4 }, false},
		"large labels":   {func(p *engine.Problem) { p.Bounds.LabelAbs, p.Radius = 2000, 1e-9 }, false},
		"another metric": {func(p *engine.Problem) { p.Loss = otherMetric{} }, false},
	} {
		p := metricProblem(100, 5)
		c.change(&p)
		k, err := Backend{Float32: true}.Plan(p)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, engine.ErrUnsupported) {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil && k.Method() != "direct, fp32" {
			t.Errorf("%s: method %q", name, k.Method())
		}
	}
	// Scores have no pairs in float32.
	p := metricProblem(100, 5)
	p.Loss = engine.Logistic{}
	one := must.Get(Backend{Float32: true}.Plan(p))(t)
	two, err := Backend{}.Plan(p)
	if err != nil || one.Method() != two.Method() || one.Bounds(engine.Query{Pairs: p.Pairs()}).Sum != two.Bounds(engine.Query{Pairs: p.Pairs()}).Sum {
		t.Errorf("scores: %s and %s", one.Method(), two.Method())
	}
}

// TestSinglePrefixes: prefixes are in float64 whatever pairs are in.
func TestSinglePrefixes(t *testing.T) {
	const n, d = 300, 4
	r, w := metricData(t, n, d)
	pairs := engine.PrefixPairs{T: n - 1}
	single, exact := plannedSingle(t, metricProblem(n, d), kernels.Best), planned(t, metricProblem(n, d), 1)
	if diff := norm2(gradSum(t, single, r, w, pairs), gradSum(t, exact, r, w, pairs)); diff != 0 || single.Bounds(engine.Query{Pairs: pairs}).Sum != exact.Bounds(engine.Query{Pairs: pairs}).Sum || single.Bounds(engine.Query{Pairs: pairs}).OneRecord() != exact.Bounds(engine.Query{Pairs: pairs}).Sum {
		t.Errorf("prefixes differ by %v", diff)
	}
}

// otherMetric is a metric loss that is no engine.MahalanobisLogistic.
type otherMetric struct{ engine.MahalanobisLogistic }
