package attack_test

import (
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// mirrored are random records, and the same with record unit turned around; all coordinates take part.
func mirrored(t *testing.T, c sizes.Cell) (data, neighbour *engine.Records) {
	t.Helper()
	data = attack.RandomRecords(c.N, c.D, engine.UnitBounds(), 7)
	x, y := make([]float64, c.N*c.D), slices.Clone(data.Labels())
	for i := range c.N {
		data.Row(i, x[i*c.D:][:c.D])
	}
	for k := range c.D {
		x[c.Unit*c.D+k] *= -1
	}
	y[c.Unit] *= -1
	neighbour = must.Get(engine.AdoptRecords(x, y, c.D, engine.UnitBounds()))(t)
	return data, neighbour
}

// Every algorithm of the catalogue at all sizes, with the attacked record at its place: releases move by no more than certified.
func TestCatalogOfEverySize(t *testing.T) {
	cells := sizes.Cells(t, 6e7, 2)
	for _, a := range algorithms.Catalog() {
		info := a.Info()
		if !slices.Contains(info.Modes, algorithms.Certified) {
			continue
		}
		loss, l2 := attack.Loss(info), 0.0
		if info.NeedsL2 {
			l2 = 0.01
		}
		_, scores := loss.(engine.ScoreLoss)
		planned := 0
		for _, c := range cells {
			if !scores && c.D > 65 {
				continue // its matrix has d (d+1)/2 coordinates
			}
			p, err := a.Plan(specFor(t, loss, c.N, c.D, 0.5, l2, algorithms.Certified, 1e-5))
			if err != nil {
				t.Logf("%s, %v: %v", info.Name, c, err) // too few records for it
				continue
			}
			planned++
			worst, other := attack.WorstCase(c.N, c.D, c.Unit, engine.UnitBounds())
			data, neighbour := mirrored(t, c)
			for _, of := range [][2]*engine.Records{{worst, other}, {data, neighbour}} {
				if ratio, err := attack.Replay(a, p, of[0], []*engine.Records{of[1]}, 9); err != nil {
					t.Errorf("%s, %v: %v (%v of the certificate)", info.Name, c, err, ratio)
				}
			}
		}
		if planned < 5 {
			t.Errorf("%s was attacked at %d sizes only", info.Name, planned)
		}
	}
}
