package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dyad/bench"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
)

// cell is what is paired: one data set, size, budget and basis.
type cell struct {
	data    string
	n       int
	epsilon float64
	basis   string
}

// measured are the AUCs of a cell by split and noise.
type measured struct {
	mu  float64
	d   int
	auc map[[2]int]float64
}

// summarize writes for each cell the mean AUC, its gain over none, or over the same basis without interactions, and the standard error of that: splits are the units, as their noises
// share the records. t is n mu/sqrt d of the basis.
func summarize(in, out string, interactions bool) error {
	lines, err := bench.ReadRows(in)
	if err != nil {
		return err
	}
	cells := map[cell]*measured{}
	for _, l := range lines {
		var v [len(columns)]float64
		for k, at := range columns {
			if v[k], err = strconv.ParseFloat(l[at], 64); err != nil {
				return fmt.Errorf("%s: %w", in, err)
			}
		}
		k := cell{data: l[0], n: int(v[0]), epsilon: v[1], basis: l[4]}
		if cells[k] == nil {
			cells[k] = &measured{mu: v[2], d: int(v[3]), auc: map[[2]int]float64{}}
		}
		cells[k].auc[[2]int{int(v[4]), int(v[5])}] = v[6]
	}
	var order []cell
	for k := range cells {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.data, b.data), a.n-b.n, cmp.Compare(a.epsilon, b.epsilon), cells[a].d-cells[b].d,
			cmp.Compare(a.basis, b.basis))
	})
	rows := [][]string{{"data", "n", "epsilon", "basis", "d", "t", "splits", "runs", "auc", "gain", "standard_error"}}
	for _, k := range order {
		against := dataset.BasisNone
		if interactions {
			against, _, _ = strings.Cut(k.basis, "+")
		}
		m, base := cells[k], cells[cell{k.data, k.n, k.epsilon, against}]
		if base == nil {
			return fmt.Errorf("%s: %v has no runs with basis %s", in, k, against)
		}
		gain, se, splits := paired(m.auc, base.auc)
		mean := 0.0
		for _, a := range m.auc {
			mean += a / float64(len(m.auc))
		}
		t := float64(k.n) * m.mu / math.Sqrt(float64(m.d))
		rows = append(rows, []string{k.data, strconv.Itoa(k.n), fmt.Sprint(k.epsilon), k.basis, strconv.Itoa(m.d),
			fmt.Sprintf("%.1f", t),
			strconv.Itoa(splits), strconv.Itoa(len(m.auc)), fmt.Sprintf("%.4f", mean), fmt.Sprintf("%.4f", gain),
			fmt.Sprintf("%.4f", se)})
	}
	return bench.WriteRows(out, rows)
}

// columns are the numbers of a raw row: n, epsilon, mu, d, split, noise, auc.
var columns = [...]int{1, 2, 3, 5, 6, 7, 8}

// paired is the mean of a - b over the runs that both have, and its standard error over splits.
func paired(a, b map[[2]int]float64) (gain, se float64, splits int) {
	of := map[int][]float64{}
	for k, v := range a {
		if w, ok := b[k]; ok {
			of[k[0]] = append(of[k[0]], v-w)
		}
	}
	var means []float64
	for _, d := range of {
		slices.Sort(d) // the order of a map would change the last bits
		sum := 0.0
		for _, v := range d {
			sum += v
		}
		means = append(means, sum/float64(len(d)))
	}
	slices.Sort(means)
	gain, se = experiment.MeanAndError(means)
	return gain, se, len(means)
}
