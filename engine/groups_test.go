package engine_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"dyad/algorithms/algotest"
	"dyad/engine"
	"dyad/engine/cpu"
)

// A grouped gradient sum is the double loop over pairs of the same group, within
// its roundoff bound, for score and metric losses.
func TestGroupedEqualsDoubleLoopWithinGroups(t *testing.T) {
	sizes := []int{5, 1, 12, 2, 1, 30}
	const n, d = 51, 3
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, Groups: sizes}
		kernel, err := engine.Grouped{Backend: cpu.Backend{}}.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		records := algotest.RandomRecords(n, d, engine.UnitBounds(), 3)
		ev, err := kernel.Bind(records)
		if err != nil {
			t.Fatal(err)
		}
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
		if err := ev.GradSum(context.Background(), got, w, p.Pairs()); err != nil {
			t.Fatal(err)
		}
		var square float64
		for k := range got {
			square += (got[k] - want[k]) * (got[k] - want[k])
		}
		bound := kernel.Roundoff(p.Pairs())
		if diff := math.Sqrt(square); !(diff <= bound+1e-12) || bound > 1e-9 {
			t.Errorf("%s: error %.3g, bound %.3g", loss.Name(), diff, bound)
		}
		// The pairs of another grouping, or all pairs, are refused.
		for _, other := range []engine.Pairs{engine.AllPairs{N: n}, engine.GroupPairs{Sizes: []int{20, 31}}} {
			if err := ev.GradSum(context.Background(), got, w, other); err == nil || !math.IsInf(kernel.Roundoff(other), 1) {
				t.Errorf("%s: the kernel accepts %T %d", loss.Name(), other, other.Len())
			}
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
	if _, err := (cpu.Backend{}).Plan(p); !errors.Is(err, engine.ErrUnsupported) {
		t.Errorf("a backend without groups plans a problem with them: %v", err)
	}
	// One that ignores them states no bound for their pairs, and Grouped does not use it.
	kernel, err := engine.Grouped{Backend: heedless{}}.Plan(p)
	if err != nil || !strings.Contains(kernel.Method(), "within 2 groups") || math.IsInf(kernel.Roundoff(p.Pairs()), 1) {
		t.Errorf("a backend that ignores groups: %v, %v", kernel, err)
	}
	for _, bad := range [][]int{{2, 3}, {1, 1, 1, 1}, {4, 0}} {
		p.Groups = bad
		if err := p.Validate(); err == nil {
			t.Errorf("groups %v of 4 records were accepted", bad)
		}
	}
	if g := (engine.GroupPairs{Sizes: []int{5, 1, 12}}); g.Len() != 20+132 || g.MaxPerRecord() != 22 {
		t.Errorf("%v has %d pairs, at most %d with one record", g, g.Len(), g.MaxPerRecord())
	}
}
