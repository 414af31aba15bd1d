package engine_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// A grouped gradient sum is the double loop over pairs of the same group, within
// its roundoff bound, for score and metric losses.
func TestGroupedEqualsDoubleLoopWithinGroups(t *testing.T) {
	sizes := []int{5, 1, 12, 2, 1, 30}
	const n, d = 51, 3
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, Groups: sizes}
		kernel := must.Get(engine.Grouped{Backend: cpu.Backend{}}.Plan(p))(t)
		records := attack.RandomRecords(n, d, engine.UnitBounds(), 3)
		ev := must.Get(kernel.Bind(records))(t)
		defer ev.Close()
		w := p.Domain().Start()
		if w[0] == 0 {
			for k := range w {
				w[k] = 0.3 - 0.2*float64(k)
			}
		}
		want, got := make([]float64, len(w)), make([]float64, len(w))
		row := func(i int) engine.Record {
			x := make([]float64, d)
			records.Row(i, x)
			return engine.Record{X: x, Y: records.Label(i)}
		}
		from := 0
		for _, s := range sizes {
			for i := from; i < from+s; i++ {
				for j := from; j < from+s; j++ {
					if i != j {
						loss.AddGrad(want, w, row(i), row(j))
					}
				}
			}
			from += s
		}
		must.Do(t, ev.Sum(context.Background(), got, engine.Gradient(w, p.Pairs())))
		bound := kernel.Bounds(engine.Query{Pairs: p.Pairs()}).Sum
		if diff := engine.Distance(got, want); !(diff <= bound+1e-12) || bound > 1e-9 {
			t.Errorf("%s: error %.3g, bound %.3g", loss.Name(), diff, bound)
		}
		// The pairs of another grouping, or all pairs, are refused.
		for _, other := range []engine.Pairs{engine.AllPairs{N: n}, engine.GroupPairs{Sizes: []int{20, 31}}} {
			if err := ev.Sum(context.Background(), got, engine.Gradient(w, other)); err == nil || !math.IsInf(kernel.Bounds(engine.Query{Pairs: other}).Sum, 1) {
				t.Errorf("%s: the kernel accepts %T %d", loss.Name(), other, other.Len())
			}
		}
	}
}

// erring is the CPU with an error of 10^-3 times the number of records in every sum, whose
// sign comes from the records, or from the number of the call if counted.
func erring(calls *int) engine.Backend {
	return enginetest.Altered{Backend: cpu.Backend{},
		Bounds: func(k engine.Kernel, q engine.Query) engine.QueryBounds {
			b := k.Bounds(q)
			b.Neighbour = 1e-3 * float64(k.Problem().N)
			b.Sum += b.Neighbour
			return b
		},
		Sum: func(ctx context.Context, e engine.Evaluator, r *engine.Records, dst []float64, q engine.Query) error {
			err := e.Sum(ctx, dst, q)
			var bits uint64
			if calls != nil {
				*calls++
				bits = uint64(*calls / 3) // of three groups
			} else {
				for _, v := range r.Dense() {
					bits = (bits ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
				}
				bits >>= 60
			}
			dst[0] += math.Copysign(1e-3*float64(r.Len()), 0.5-float64(bits&1))
			return err
		}}
}

// What a record changes of the error of a grouped sum is what it changes in its own group:
// the errors of the others are the same, whatever they are. The control: errors that are
// not a function of a group's records exceed it.
func TestGroupedErrorOfOneRecord(t *testing.T) {
	const n, d = 30, 2
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, Groups: []int{9, 11, 10}}
	exact := must.Get(engine.Grouped{Backend: cpu.Backend{}}.Plan(p))(t)
	calls := 1
	for _, counted := range []bool{false, true} {
		b := erring(nil)
		if counted {
			b = erring(&calls)
		}
		k := must.Get(engine.Grouped{Backend: b}.Plan(p))(t)
		r, whole := k.Bounds(engine.Query{Pairs: p.Pairs()}).OneRecord(), k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum
		if !(r > 11e-3 && r < 11.1e-3 && whole > 30e-3) {
			t.Errorf("bounds %v of one record, %v of the sum", r, whole)
		}
		errorOf := func(records *engine.Records) float64 {
			var sums [2]float64
			for i, kernel := range []engine.Kernel{k, exact} {
				e := must.Get(kernel.Bind(records))(t)
				dst := make([]float64, d)
				must.Do(t, e.Sum(context.Background(), dst, engine.Gradient([]float64{0.5, 0.5}, p.Pairs())))
				sums[i] = dst[0]
			}
			return sums[0] - sums[1]
		}
		data := attack.RandomRecords(n, d, engine.UnitBounds(), 3)
		before, most := errorOf(data), 0.0
		for _, other := range attack.Neighbours(data, 12, 4) {
			most = max(most, math.Abs(errorOf(other)-before))
		}
		if (most <= 2*r) == counted || most == 0 {
			t.Errorf("counted %v: a record changes the error by %v, and its bound is %v", counted, most, r)
		}
	}
}

// heedless plans problems with groups as if they had none.
type heedless struct{ cpu.Backend }

func (b heedless) Plan(p engine.Problem) (engine.Kernel, error) {
	p.Groups = nil
	return b.Backend.Plan(p)
}

// A backend that knows no groups cannot be used with them by accident.
func TestGroupsAreNotIgnored(t *testing.T) {
	p := engine.Problem{N: 4, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, Groups: []int{2, 2}}
	must.Fail((cpu.Backend{}).Plan(p))(t, engine.ErrUnsupported, "a backend without groups plans a problem with them")
	// One that ignores them states no bound for their pairs, and Grouped does not use it.
	kernel, err := engine.Grouped{Backend: heedless{}}.Plan(p)
	if err != nil || !strings.Contains(kernel.Method(), "within 2 groups") || math.IsInf(kernel.Bounds(engine.Query{Pairs: p.Pairs()}).Sum, 1) {
		t.Errorf("a backend that ignores groups: %v, %v", kernel, err)
	}
	for _, bad := range [][]int{{2, 3}, {1, 1, 1, 1}, {4, 0}} {
		p.Groups = bad
		must.ErrDo(t, p.Validate(), "groups %v of 4 records were accepted", bad)
	}
	if g := (engine.GroupPairs{Sizes: []int{5, 1, 12}}); g.Len() != 20+132 || g.MaxPerRecord() != 22 {
		t.Errorf("%v has %d pairs, at most %d with one record", g, g.Len(), g.MaxPerRecord())
	}
}
