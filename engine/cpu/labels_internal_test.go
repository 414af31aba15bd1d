package cpu

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// countedLoss counts the evaluations of phi' outside the logistic kernels.
type countedLoss struct {
	engine.Logistic
	calls *int
}

func (l countedLoss) DPhi(u float64) float64 {
	*l.calls++
	return l.Logistic.DPhi(u)
}

// work describes what a sum over all pairs does: the method, its tables, and for the
// near-linear method, whose time does not depend on class frequencies either, the
// number of evaluations of phi'.
func work(t *testing.T, e *evaluator, calls *int) string {
	t.Helper()
	*calls = 0
	n := e.problem.N
	must.Do(t, e.Sum(context.Background(), make([]float64, 1), engine.Gradient([]float64{0.5}, engine.AllPairs{N: n})))
	if m, ok := e.all.(*direct); ok {
		return fmt.Sprintf("direct, two sides: %v", m.slot != nil)
	}
	m := e.all.(*nearLinear)
	return fmt.Sprintf("near-linear, %d labels, %d floats of sums, %d evaluations", m.q, len(m.sums), *calls)
}

// TestWorkDoesNotDependOnLabels: which method sums the pairs is public, so it must not
// follow the labels that happen to occur. A record with a third label, or the only one
// of its class, would otherwise be seen from the time of a run.
func TestWorkDoesNotDependOnLabels(t *testing.T) {
	const n = 2000
	labels := map[string]func(i int) float64{
		"one class":  func(int) float64 { return 1 },
		"one record": func(i int) float64 { return float64(1 - 2*min(i, 1)) },
		"two":        func(i int) float64 { return float64(2*(i%2) - 1) },
		"five":       func(i int) float64 { return float64(i%5)/2 - 1 },
		"all":        func(i int) float64 { return 2*float64(i)/n - 1 },
	}
	for _, c := range []struct {
		limit int
		take  []string
		want  string
	}{
		{0, []string{"one class", "one record", "two"}, NearLinear.String()},
		{5, []string{"one class", "two", "five"}, NearLinear.String()},
		{engine.AnyLabels, []string{"one class", "two", "five", "all"}, Direct.String()},
	} {
		calls := 0
		p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: countedLoss{calls: &calls}, Radius: 1, LabelValues: c.limit}
		k, err := Backend{Workers: 1}.Plan(p)
		if err != nil || k.Method() != c.want {
			t.Fatalf("limit %d: %v, %v, want %s", c.limit, k, err, c.want)
		}
		var first string
		for _, name := range c.take {
			bind := func() *evaluator {
				x, y := make([]float64, n), make([]float64, n)
				for i := range y {
					x[i], y[i] = float64(i)/n, labels[name](i)
				}
				r := must.Get(engine.NewRecords(x, y, 1, engine.UnitBounds()))(t)
				e := must.Get(k.Bind(r))(t)
				return e.(*evaluator)
			}
			got := work(t, bind(), &calls)
			if first == "" {
				first = got
			}
			must.Equal(t, got, first, "limit %d, labels %s", c.limit, name)
			// Control: tables for the labels that occur, as many as there are.
			if c.limit != engine.AnyLabels && name == "one class" {
				e := bind()
				e.values = slices.Compact(e.values)
				if leak := work(t, e, &calls); leak == got {
					t.Errorf("limit %d: the test does not see tables that follow the labels: %s", c.limit, leak)
				}
			}
		}
	}
}

// TestBindRefusesMoreLabels: with more labels than planned for the tables would be wrong.
func TestBindRefusesMoreLabels(t *testing.T) {
	r := must.Get(engine.NewRecords(make([]float64, 6), []float64{-1, 0, 1, 1, 0, -1}, 1, engine.UnitBounds()))(t)
	wide := must.Get(engine.NewRecords(make([]float64, 18), r.Labels(), 3, engine.UnitBounds()))(t) // its scores are bound
	for limit, ok := range map[int]bool{0: false, 2: false, 3: true, 6: true, engine.AnyLabels: true} {
		p := engine.Problem{N: 6, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: limit}
		k := must.Get(Backend{}.Plan(p))(t)
		if _, err := k.Bind(r); (err == nil) != ok {
			t.Errorf("limit %d: Bind says %v", limit, err)
		}
		if err := p.Fits(r); (err == nil) != ok {
			t.Errorf("limit %d: Fits says %v", limit, err)
		}
		if _, err := BindScores(k, wide); (err == nil) != ok {
			t.Errorf("limit %d: BindScores says %v", limit, err)
		}
		if _, err := BindScores(k, wide.Shard(0, 3)); err == nil {
			t.Errorf("limit %d: BindScores takes a part of the records", limit)
		}
	}
	p := engine.Problem{N: 6, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: -2}
	if p.Validate() == nil {
		t.Error("LabelValues = -2 is accepted")
	}
}
