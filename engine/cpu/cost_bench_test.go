package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dyad/engine"
	"dyad/internal/machine"
	"dyad/internal/must"
)

// costCase is a problem of which every method is measured.
type costCase struct {
	loss   string
	labels int // different ones; 0 stands for a tenth of n
	radius float64
	n      int
}

func costCases() (all []costCase) {
	for _, n := range []int{64, 128, 256, 1000, 4000, 10_000, 100_000, 1_000_000} {
		for _, radius := range []float64{0.25, 1, 5, 25} {
			all = append(all, costCase{"logistic", 2, radius, n})
		}
		for _, loss := range []string{"hinge", "squared-hinge", "ramp", "square"} {
			all = append(all, costCase{loss, 2, 1, n})
		}
		if n <= 100_000 {
			all = append(all, costCase{"logistic", 8, 1, n}, costCase{"hinge", 8, 1, n})
		}
		if n <= 4000 {
			all = append(all, costCase{"hinge", 0, 1, n})
		}
	}
	return all
}

func (c costCase) problem(tb testing.TB) (engine.Problem, *engine.Records) {
	rng := rand.New(rand.NewPCG(1, uint64(c.n)))
	x, y, labels := make([]float64, c.n), make([]float64, c.n), c.labels
	if labels == 0 {
		labels = c.n / 10
	}
	for i := range x {
		x[i] = min(max(0.4*rng.NormFloat64(), -1), 1)
		y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
	}
	r := must.Get(engine.AdoptRecords(x, y, 1, engine.UnitBounds()))(tb)
	p := engine.Problem{N: c.n, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: c.radius, LabelValues: labels}
	if c.loss != "logistic" {
		l, ok := engine.LibraryByName(c.loss)
		if !ok {
			tb.Fatalf("no loss %q", c.loss)
		}
		e := must.Get(l.Expression(engine.ExpressionOptions{}))(tb)
		p.Loss = engine.Score{Of: e}
	}
	return p, r
}

// measure is the shortest time of a gradient in nanoseconds, and its counts.
func (c costCase) measure(tb testing.TB, p engine.Problem, r *engine.Records, method Method) (ns float64, met counts, ok bool) {
	k, err := Backend{Workers: 1, Method: method}.Plan(p)
	if err != nil {
		return 0, nil, false
	}
	e := must.Get(k.Bind(r))(tb)
	defer e.Close()
	sum, w := make([]float64, 1), []float64{0.9 * c.radius}
	ns = math.Inf(1)
	for start, runs := 1e9*machine.ProcessorTime(), 0; runs < 5 || 1e9*machine.ProcessorTime()-start < 1e8; runs++ {
		count := 1 + 100_000/(c.n+c.n*c.n/100)
		at := 1e9 * machine.ProcessorTime()
		for range count {
			must.Do(tb, e.Sum(context.Background(), sum, engine.Gradient(w, engine.AllPairs{N: c.n})))
		}
		ns = min(ns, (1e9*machine.ProcessorTime()-at)/float64(count))
	}
	switch plan := k.(*kernel); method {
	case Direct:
		return ns, plan.directCounts(), true
	case NearLinear:
		return ns, plan.nearCounts(), true
	default:
		return ns, plan.sortedCounts(), true
	}
}

// mostDirect bounds the problems that the direct method is measured on.
const mostDirect = 4000

// costNames are the costs of each method, in the order of its counts.
func costNames() map[Method][]string {
	return map[Method][]string{
		Direct:     {"nsFactoredPair", "nsLogisticPair", "nsPair", "nsDirectCall"},
		NearLinear: {"nsPoint", "nsTerm", "nsGroup", "nsGrouped", "nsNode", "nsNodeRow", "nsNearCall"},
		Sorted:     {"nsSorted", "nsStep", "nsStepCall", "nsSortedCall"},
	}
}

// BenchmarkCosts measures gradients by every method in processor time, and fits the costs of
// cost.go to them by least squares of relative errors:
//
//	go test ./engine/cpu -run - -bench Costs -benchtime 1x > bench/results/costs-xeon-2.5GHz.txt
func BenchmarkCosts(b *testing.B) {
	for b.Loop() {
		times, met := map[Method][]float64{}, map[Method][]counts{}
		fmt.Println("loss,labels,radius,n,method,us")
		for _, c := range costCases() {
			p, r := c.problem(b)
			for _, method := range []Method{Direct, NearLinear, Sorted} {
				if method == Direct && c.n > mostDirect {
					continue
				}
				ns, count, ok := c.measure(b, p, r, method)
				if !ok {
					continue
				}
				times[method], met[method] = append(times[method], ns), append(met[method], count)
				fmt.Printf("%s,%d,%g,%d,%v,%.1f\n", c.loss, c.labels, c.radius, c.n, method, ns/1e3)
			}
		}
		for _, method := range []Method{Direct, NearLinear, Sorted} {
			for i, v := range fitCosts(b, met[method], times[method]) {
				fmt.Printf("cost,%s,%.2g\n", costNames()[method][i], v)
			}
		}
	}
}

// fitCosts minimises the squares of relative errors over costs that are not negative: it
// drops costs that come out negative, the most negative first.
func fitCosts(tb testing.TB, met []counts, ns []float64) []float64 {
	costs, used := make([]float64, len(met[0])), make([]int, len(met[0]))
	for i := range used {
		used[i] = i
	}
	for {
		a, one := mat.NewDense(len(ns), len(used), nil), mat.NewDense(len(ns), 1, nil)
		for row, t := range ns {
			one.Set(row, 0, 1)
			for col, i := range used {
				a.Set(row, col, met[row][i]/t)
			}
		}
		var x mat.Dense
		if err := x.Solve(a, one); err != nil {
			tb.Logf("fit: %v", err)
		}
		least := 0
		for col := range used {
			if x.At(col, 0) < x.At(least, 0) {
				least = col
			}
		}
		if x.At(least, 0) < 0 {
			used = append(used[:least], used[least+1:]...)
			continue
		}
		for col, i := range used {
			costs[i] = x.At(col, 0)
		}
		return costs
	}
}
