package attack

import (
	"fmt"
	"math"

	"dyad/engine"
)

// KinkLosses are scalars whose slope jumps where a computed sigmoid crosses a constant,
// and which it does at u = at, so that the last bit of that sigmoid decides a whole jump.
// An algorithm that starts at w = 0 puts every pair of scores on the kink at = 0 in its
// first step. A certificate covers them only if the slope of a pair is a function of that
// pair's numbers alone, bit for bit (engine.Scalar).
func KinkLosses(at float64) []*engine.Expression {
	var all []*engine.Expression
	add := func(text string, params map[string]float64) {
		e, err := engine.NewExpression(fmt.Sprintf("kink-%d", len(all)), text, engine.ExpressionOptions{Params: params})
		if err != nil {
			panic(err) // the formulas are this package's own
		}
		all = append(all, e)
	}
	add("max(0, sigmoid(m+c-u) - sigmoid(m))", map[string]float64{"m": 2.8, "c": at})
	add("abs(sigmoid(m+c-u) - sigmoid(m))", map[string]float64{"m": 0.2, "c": at})
	add("max(0.3, sigmoid(c-u))", map[string]float64{"c": at + math.Log(0.3/0.7)})
	return all
}

// Instance is a data set and a neighbour, with what is special about them.
type Instance struct {
	Data, Neighbour *engine.Records
	Name            string
}

// KinkNeighbours have pairs of records with few different margins: data sets of n >= 4 records in which the positive ones are all (R, 0,
// ..., 0) and the negative ones all (-R, 0, ..., 0), but for record k, whose label alone
// differs between the two. There are few records of one class: one that changes its class
// then moves all the others to other places of blocks that hold one class only.
func KinkNeighbours(n, d int, b engine.Bounds) []Instance {
	var all []Instance
	for _, few := range []int{1, 4, 5, 8} {
		if few >= n {
			break
		}
		for _, class := range []string{"negative", "positive"} {
			x, y := make([]float64, n*d), make([]float64, n)
			for i := range y {
				y[i] = b.LabelAbs
				if (i < few) == (class == "negative") {
					y[i] = -b.LabelAbs
				}
				x[i*d] = b.FeatureNorm
				if y[i] < 0 {
					x[i*d] = -b.FeatureNorm
				}
			}
			for _, k := range []int{0, few - 1, few, n - 1} {
				data := mustRecords(append([]float64(nil), x...), append([]float64(nil), y...), d, b)
				flipped := append([]float64(nil), y...)
				flipped[k] = -flipped[k]
				neighbour := mustRecords(append([]float64(nil), x...), flipped, d, b)
				name := fmt.Sprintf("%d %s records first, label of record %d flipped", few, class, k)
				all = append(all, Instance{data, neighbour, name}, Instance{neighbour, data, name + " back"})
			}
		}
	}
	return all
}
