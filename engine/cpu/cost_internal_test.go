package cpu

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"runtime"
	"strconv"
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// loose has larger bounds of its slope off the real line than it needs.
type loose struct{ engine.Logistic }

func (l loose) StripBound(reach, height float64) float64 {
	return l.Logistic.StripBound(reach, height) * math.Exp(20*height)
}

// TestExpressionPlan: the formula of the logistic loss has the plan of the hand-written one,
// whose bounds are sharp. The control has others.
func TestExpressionPlan(t *testing.T) {
	l, _ := engine.LibraryByName("logistic")
	formula := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
	plan := func(loss engine.Loss, radius float64) (bins, terms int) {
		k := must.Get(Backend{Method: NearLinear}.Plan(engine.Problem{N: 1_000_000, D: 1, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}))(t)
		return k.(*kernel).bins, k.(*kernel).terms()
	}
	others := 0
	for _, radius := range []float64{0.25, 0.7, 1, 1.2, 3, 25} {
		bins, terms := plan(engine.Logistic{}, radius)
		if b, p := plan(engine.Score{Of: formula}, radius); b != bins || p != terms {
			t.Errorf("radius %v: %d bins of %d terms, want %d of %d", radius, b, p, bins, terms)
		}
		if b, p := plan(loose{}, radius); b != bins || p != terms {
			others++
		}
	}
	if others == 0 {
		t.Error("loose bounds have the same plans")
	}
}

// TestCheapest: in a committed measurement, the planner's choice takes at most a fifth
// longer than the fastest method for 1,000 records or more, and its costs are those of that
// measurement. The controls are planners that know one method.
func TestCheapest(t *testing.T) {
	f := must.Get(os.Open("../../bench/results/costs-xeon-2.5GHz.txt"))(t)
	defer f.Close()
	read := csv.NewReader(f)
	read.Comment, read.FieldsPerRecord = '#', -1
	rows := must.Get(read.ReadAll())(t)
	number := func(text string) float64 {
		return must.Get(strconv.ParseFloat(text, 64))(t)
	}
	costs := map[string]float64{
		"nsFactoredPair": nsFactoredPair, "nsLogisticPair": nsLogisticPair, "nsPair": nsPair, "nsDirectCall": nsDirectCall,
		"nsPoint": nsPoint, "nsTerm": nsTerm, "nsGroup": nsGroup, "nsGrouped": nsGrouped, "nsNode": nsNode, "nsNodeRow": nsNodeRow, "nsNearCall": nsNearCall,
		"nsSorted": nsSorted, "nsStep": nsStep, "nsStepCall": nsStepCall, "nsSortedCall": nsSortedCall,
	}
	times, same := map[costCase]map[string]float64{}, 0
	for _, row := range rows[1:] {
		if row[0] == "cost" {
			if v, ok := costs[row[1]]; !ok || v != number(row[2]) {
				t.Errorf("%s is %v, measured %s", row[1], v, row[2])
			}
			same++
			continue
		}
		c := costCase{row[0], int(number(row[1])), number(row[2]), int(number(row[3]))}
		if times[c] == nil {
			times[c] = map[string]float64{}
		}
		times[c][row[4]] = number(row[5])
	}
	if same != len(costs) || len(times) != len(costCases()) {
		t.Fatalf("%d costs and %d problems in the file, want %d and %d", same, len(times), len(costs), len(costCases()))
	}
	slow := map[string]int{}
	for c, us := range times {
		if c.n < 1000 {
			continue
		}
		fastest := math.Inf(1)
		for _, v := range us {
			fastest = min(fastest, v)
		}
		p, _ := c.problem(t)
		k := must.Get(Backend{Workers: 1}.Plan(p))(t)
		if v, ok := us[k.Method()]; !ok || v > 1.2*fastest {
			t.Errorf("%+v: %s takes %v of %v", c, k.Method(), v, us)
		}
		for _, method := range []Method{Direct, NearLinear, Sorted} {
			if v, ok := us[method.String()]; ok && v > 1.2*fastest {
				slow[method.String()]++
			}
		}
	}
	if slow["direct"] == 0 || slow["near-linear"] == 0 || slow["sorted"] == 0 {
		t.Errorf("a method is always the fastest: slow ones %v", slow)
	}
}

// What an evaluator holds is within a factor of 2 of what its kernel said, for every method.
func TestBytes(t *testing.T) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	score := func(name string) engine.Loss {
		l, ok := engine.LibraryByName(name)
		if !ok {
			t.Fatal(name)
		}
		e := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
		return engine.Score{Of: e}
	}
	for name, c := range map[string]struct {
		n, d   int
		loss   engine.Loss
		radius float64
		method Method
	}{
		"near-linear":     {200_000, 5, engine.Logistic{}, 1, NearLinear},
		"near-linear 20":  {400_000, 20, engine.Logistic{}, 1, NearLinear},
		"near-linear, 5":  {200_000, 5, engine.Logistic{}, 5, NearLinear},
		"near-linear, 25": {200_000, 5, engine.Logistic{}, 25, NearLinear},
		"sorted":          {200_000, 5, score("hinge"), 1, Sorted},
		"direct":          {5000, 20, engine.Logistic{}, 1, Direct},
		"metric":          {3000, 20, engine.Metric{Of: engine.Logistic{}}, 1, Auto},
		"metric 5":        {3000, 5, engine.Metric{Of: engine.Logistic{}}, 1, Auto},
	} {
		p := engine.Problem{N: c.n, D: c.d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: c.radius, LabelValues: 2}
		k := must.Get(Backend{Workers: 2, Method: c.method}.Plan(p))(t)
		x, y := make([]float64, c.n*c.d), make([]float64, c.n)
		for i := range x {
			x[i] = float64(i*7919%2001-1000) / 8000
		}
		for i := range y {
			y[i] = float64(2*(i%2) - 1)
		}
		r := must.Get(engine.AdoptRecords(x, y, c.d, p.Bounds))(t)
		before := heap()
		e := must.Get(k.Bind(r))(t)
		sum, w := make([]float64, c.loss.ParamDim(c.d)), make([]float64, c.loss.ParamDim(c.d))
		w[0] = 0.9 * c.radius
		must.Do(t, e.Sum(context.Background(), sum, engine.Gradient(w, p.Pairs())))
		if got, said := heap()-before, k.Bounds(engine.Gradient(nil, p.Pairs())).Bytes; got > 2*said || got < said/2 {
			t.Errorf("%s: %.3g bytes, the kernel said %.3g", name, got, said)
		} else {
			t.Logf("%s: %.3g bytes, the kernel said %.3g", name, got, said)
		}
		e.Close()
		runtime.KeepAlive(r)
	}
}

// TestPersonRoundoffKnowsNoRows: depths of sums do not decrease with the number of rows, so
// those that Roundoff has from P and the cap hold for any number of rows, in the grid that is
// chosen for it; and Roundoff says nothing else of rows.
func TestPersonRoundoffKnowsNoRows(t *testing.T) {
	for _, d := range []int{1, 20, 3000} {
		for _, persons := range []int{2, 700, 30000} {
			for _, most := range []int{1, 7, 1000} {
				p := engine.Problem{N: persons, D: d, Bounds: engine.UnitBounds(), Radius: 1, PersonRows: most}
				for _, method := range []Method{NearLinear, Direct, Sorted} {
					p.Loss = engine.Logistic{}
					if method == Sorted {
						p.Loss = engine.Score{Of: enginetest.Hinge()}
					}
					planned := must.Get(Backend{Method: method}.Plan(p))(t)
					k := planned.(*kernel)
					for rows := persons; rows <= persons*most; rows += 1 + rows/2 {
						g := *k
						g.rows = rows
						g.planGrid()
						if g.rowSumDepth() > k.rowSumDepth() || g.sumDepth() > k.sumDepth() || directDepth(rows) > directDepth(k.rows) || g.chunks() > maxChunks || g.sortedError() > k.sortedError() {
							t.Errorf("%v, d = %d, %d persons up to %d rows: a sum over %d rows is deeper than planned", method, d, persons, most, rows)
						}
					}
				}
				if d > 20 {
					continue
				}
				p.Loss = engine.MahalanobisLogistic{}
				planned := must.Get(Backend{}.Plan(p))(t)
				k := planned.(*metricKernel)
				for rows := persons; rows <= persons*most; rows += 1 + rows/2 {
					g := *k
					g.rows = rows
					g.planGrid()
					if g.allDepth() > k.allDepth() {
						t.Errorf("metric, d = %d, %d persons up to %d rows: a sum over %d rows is deeper than planned", d, persons, most, rows)
					}
				}
			}
		}
	}
}
