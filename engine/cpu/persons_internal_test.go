package cpu

import (
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

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
