//go:build !purego

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func TestPanelLogistic32(t *testing.T) { widths(t, testPanelLogistic32) }

func testPanelLogistic32(t *testing.T, wide bool) {
	rng := rand.New(rand.NewPCG(16, 17))
	unit := logisticUnit32(wide)
	var worst float64
	for n := range 68 {
		scale := []float64{1e-3, 1, 20, MaxLogisticMargin32}[n%4] / unit
		label := func() float32 { return []float32{-1, 1, 0.5, -0.25}[rng.IntN(4)] }
		y, z := newGuarded(filled(panelCols32, label), n%2), newGuarded(filled(n, label), 2)
		c := newGuarded(narrow(uniform(n*panelCols32, -scale, scale)), n%4)
		row, col := newGuarded(make([]float32, panelCols32), n%4), newGuarded(make([]float32, n*lanes32), 1)
		margins := append([]float32(nil), c.data...)
		panelLogistic32(wide, c.data, n, y.data, z.data, row.data, col.data)
		rows, cols := make([]float64, panelCols32), make([]float64, n)
		for at, got := range c.data {
			j, i := at/panelCols32, at%panelCols32
			// The margin in units is exact for these labels.
			v := unit * float64(margins[at]) * float64(z.data[j])
			want := float64(z.data[j]) / (1 + math.Exp(v))
			worst = max(worst, math.Abs(float64(got)-want)/math.Abs(want)/w32)
			rows[i] += float64(got)
			cols[j] += float64(got) * float64(y.data[i])
		}
		sums, wide := make([]float64, n), make([]float64, panelCols32)
		for at, v := range col.data {
			sums[at/lanes32] += float64(v)
		}
		Widen(wide, row.data)
		name := fmt.Sprintf("n=%d", n)
		allNear(t, name+", rows", wide, rows, float64(n), 1e-5)
		allNear(t, name+", columns", sums, cols, panelCols32, 1e-5)
		kept(t, name, []guard{c, row, col}, y, z)
	}
	t.Logf("largest relative error %.3g w", worst)
	must.Within(t, worst, 0.5, 10, "relative error ... w")
}
