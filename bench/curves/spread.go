package main

import (
	"fmt"
	"math"
	"strconv"

	"dyad/bench"
)

// spreads writes what a release of the spread would say without noise: the root mean square of the distance of records to their mean, in units of
// the norm bound, next to the coefficient of variation of the squared distance and the same root for each class, which it would not say.
func spreads(shared string, names []string, out string) error {
	var rows [][]string
	for _, name := range names {
		all, err := load(shared, name, []string{"none"})
		if err != nil {
			return err
		}
		r := all[0]
		n, d, bound := float64(r.Len()), r.Dim(), r.Bounds().FeatureNorm
		row, mean := make([]float64, d), make([]float64, d)
		for i := range r.Len() {
			r.Row(i, row)
			for k, v := range row {
				mean[k] += v / n
			}
		}
		var fourth float64
		var square, count [2]float64
		for i, y := range r.Labels() {
			r.Row(i, row)
			var q float64
			for k, v := range row {
				q += (v - mean[k]) * (v - mean[k]) / (bound * bound)
			}
			class := 0
			if y > 0 {
				class = 1
			}
			count[class]++
			square[class] += q
			fourth += q * q / n
		}
		line := []string{name, strconv.Itoa(d)}
		whole := (square[0] + square[1]) / n
		for _, v := range []float64{math.Sqrt(whole), math.Sqrt(fourth/(whole*whole) - 1), math.Sqrt(square[0] / count[0]),
			math.Sqrt(square[1] / count[1])} {
			line = append(line, fmt.Sprintf("%.3f", v))
		}
		rows = append(rows, line)
	}
	return bench.AppendRows(out, "data,d,rms,variation,rms_negative,rms_positive", rows...)
}
