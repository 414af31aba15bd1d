package cpu

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"dyad/engine"
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
