package attack

import (
	"fmt"
	"math"
	"slices"

	"dyad/engine"
)

// KinkLosses returns scalars whose slope jumps at u = at, where a computed sigmoid crosses a constant. There
// the last bit of the sigmoid decides on which side of the jump a slope lies. With at = 0, an algorithm that
// starts at w = 0 evaluates every pair of scores at the jump in its first step. A certificate covers such
// losses only if the slope of a pair is a function of this pair's numbers alone, bit for bit (engine.Scalar).
func KinkLosses(at float64) []*engine.Expression {
	var all []*engine.Expression
	add := func(text string, params map[string]float64) {
		e, err := engine.NewExpression(fmt.Sprintf("kink-%d", len(all)), text, engine.ExpressionOptions{Params: params})
		if err != nil {
			panic(err) // the formulas are set by this package
		}
		all = append(all, e)
	}
	add("max(0, sigmoid(m+c-u) - sigmoid(m))", map[string]float64{"m": 2.8, "c": at})
	add("abs(sigmoid(m+c-u) - sigmoid(m))", map[string]float64{"m": 0.2, "c": at})
	add("max(0.3, sigmoid(c-u))", map[string]float64{"c": at + math.Log(0.3/0.7)})
	return all
}

// Instance is a data set and a neighbour, with a description of their special property.
type Instance struct {
	Data, Neighbour *engine.Records
	Name            string
}

// KinkNeighbours returns neighbouring data sets of n >= 4 records. The features are (R, 0, ..., 0) in positive
// records and (-R, 0, ..., 0) in negative records, so the pairs have few different margins. Only the label of one
// record k differs between neighbours, and its features stay. One class has few records. Some computations sort the
// records into blocks of one class each. If record k changes its class, all records of the other class move to other
// places in these blocks.
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
				data := mustRecords(slices.Clone(x), slices.Clone(y), d, b)
				neighbour := Flipped(data, k)
				name := fmt.Sprintf("the first %d records are %s; the neighbour flips the label of record %d", few, class, k)
				all = append(all, Instance{data, neighbour, name}, Instance{neighbour, data, name + " back"})
			}
		}
	}
	return all
}
