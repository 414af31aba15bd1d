package cpu

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// wideOf sums the full second moments of sparse records over their stored features, or in dense blocks.
func wideOf(t *testing.T, r *engine.Records, m engine.Query, workers int, wide bool) (engine.Moments, *momentsEvaluator) {
	t.Helper()
	k := must.Get(Backend{Workers: workers}.PlanMoments(engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: engine.AnyLabels}))(t)
	kernel := *k.(*momentsKernel)
	kernel.wide = wide
	ev := must.Get(kernel.Bind(r))(t)
	got := engine.NewMoments(r.Dim(), m.Second)
	for k := range got.Second {
		got.Second[k] = math.NaN() // what was there is not added to
	}
	must.Do(t, ev.Sum(context.Background(), got.All, m))
	return got, ev.(*momentsEvaluator)
}

// Sums over stored features are exact sums over s (x - c) within their bound, ||s (x - c)|| is at most R exactly, dense blocks differ by no
// more than both bounds and the roundings of their clip, and the bits are the same for every number of workers.
func TestWideMomentsAgainstExactSums(t *testing.T) {
	for _, shape := range [][2]int{{40, 1}, {300, 3}, {2*wideChunk + 5, 3}, {120, 65}, {40, 257}} {
		n, d := shape[0], shape[1]
		r := momentRecords(t, n, d, true)
		for name, m := range map[string]engine.Query{
			"one": {Radius: 1}, "small": {Radius: 0.03}, "moved": {Radius: 0.2, Centre: make([]float64, d)}, "signed": {Radius: 0.6, Signed: true, Offset: -0.37, Centre: make([]float64, d)},
			"onto a record": {Radius: leastWideRadius, Centre: make([]float64, d)},
		} {
			if !sizes.Full() && d > 3 && name != "signed" && name != "onto a record" {
				continue // the exact sums take their time
			}
			m.Second = engine.FullSecond
			switch name {
			case "onto a record": // q is 0 but for its error
				r.Row(1, m.Centre)
			default:
				for j := range m.Centre {
					m.Centre[j] = 0.3 / float64(j+1)
				}
			}
			name = fmt.Sprintf("n=%d d=%d %s", n, d, name)
			got, e := wideOf(t, r, m, 1, true)
			for _, workers := range []int{2, 7} {
				if again, _ := wideOf(t, r, m, workers, true); fmt.Sprint(again) != fmt.Sprint(got) {
					t.Errorf("%s: other bits with %d workers", name, workers)
				}
			}
			if n < wideChunk || name == fmt.Sprintf("n=%d d=%d signed", n, d) {
				checkWide(t, name, e, got, m)
			}
			dense, _ := wideOf(t, r, m, 2, false)
			limit, own := e.Bounds(engine.Query{Radius: m.Radius, Second: m.Second}), e.wideError()
			clip := float64(n) * float64(4*d+200) * 0x1p-52 * m.Radius
			must.Within(t, norm2(got.Sum, dense.Sum), 0, limit.Sum+own.Sum+clip, "%s: sums in dense blocks are ... away", name)
			if far := norm2(got.Second, dense.Second); far > limit.Second+own.Second+2*clip*m.Radius {
				t.Errorf("%s: second moments in dense blocks are %v away, bounds %v, %v", name, far, limit.Second, own.Second)
			}
			must.Near(t, got.Positives(), dense.Positives(), limit.Positives+own.Positives, "%s: ... positives", name)
		}
	}
}

// checkWide compares with exact sums.
func checkWide(t *testing.T, name string, e *momentsEvaluator, got engine.Moments, m engine.Query) {
	t.Helper()
	const precision = 600
	number := func() *big.Float { return new(big.Float).SetPrec(precision) }
	n, d := e.records.Len(), e.problem.D
	centre, square := m.Centre, 0.0
	if centre == nil {
		centre = make([]float64, d)
	}
	for _, c := range centre {
		square += float64(c * c)
	}
	sum, second := make([]*big.Float, d), make([]*big.Float, len(got.Second))
	for k := range sum {
		sum[k] = number()
	}
	for k := range second {
		second[k] = number()
	}
	x := make([]float64, d)
	radius := number().SetFloat64(m.Radius)
	radius.Mul(radius, radius)
	clipped := 0
	for i := range n {
		r := e.x
		s := clipScale(r.value[r.start[i]:r.start[i+1]], r.index[r.start[i]:r.start[i+1]], centre, square, e.problem.Bounds.FeatureNorm, m.Radius)
		if !(s >= 0 && s <= 1) {
			t.Fatalf("%s: record %d is scaled by %v", name, i, s)
		}
		if s < 1 {
			clipped++
		}
		e.records.Row(i, x)
		z, norm, term := make([]*big.Float, d), number(), number()
		for j := range z {
			z[j] = number().Sub(number().SetFloat64(x[j]), number().SetFloat64(centre[j]))
			z[j].Mul(z[j], number().SetFloat64(s))
			norm.Add(norm, term.Mul(z[j], z[j]))
		}
		if norm.Cmp(radius) > 0 {
			t.Fatalf("%s: record %d has a norm above R", name, i)
		}
		a := 1.0
		if m.Signed {
			a = (e.y[i] - m.Offset) / (1 + math.Abs(m.Offset))
		}
		at, root := 0, number().Sqrt(number().SetInt64(2))
		for j := range z {
			sum[j].Add(sum[j], term.Mul(z[j], number().SetFloat64(a)))
			for k := j; k < d; k++ {
				term.Mul(z[j], z[k])
				if k > j {
					term.Mul(term, root)
				}
				second[at].Add(second[at], term)
				at++
			}
		}
	}
	if clipped == 0 {
		t.Errorf("%s: no record was clipped", name)
	}
	limit := e.wideError()
	must.Within(t, distanceTo(got.Sum, sum), 0, limit.Sum, "%s: the sum is ... away", name)
	must.Within(t, distanceTo(got.Second, second), 0, limit.Second, "%s: the second moments are ... away", name)
}
