package cuda

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// TestPartnersAttack: reciprocals within their documented error, which is a function of the operand, and places at
// which a flipped label moves a partner on every level: what the record changes is within NeighbourRoundoff, and
// beyond what it would be if no partners moved.
func TestPartnersAttack(t *testing.T) {
	const n, m = 1024, 10
	f, edits := newFake(), 0
	rcp := regexp.MustCompile(`rcp\.approx\.ftz\.f32\s+(%f\d+), (%f\d+);`)
	hex := func(v float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(v))) }
	f.edit = func(ptx string) string {
		return rcp.ReplaceAllStringFunc(ptx, func(s string) string {
			edits++
			r := rcp.FindStringSubmatch(s)
			return s + fmt.Sprintf(`
	{
	.reg .pred %%za<2>;
	.reg .f32 %%zf<3>;
	.reg .b32 %%zr<2>;
	setp.gt.f32 %%za0, %s, %s;
	setp.gt.f32 %%za1, %s, %s;
	mov.b32 %%zr0, %s;
	add.s32 %%zr1, %%zr0, 1;
	add.s32 %%zr0, %%zr0, -1;
	mov.b32 %%zf0, %%zr0;
	mov.b32 %%zf1, %%zr1;
	selp.f32 %%zf2, %%zf0, %%zf1, %%za0;
	selp.f32 %s, %%zf1, %%zf2, %%za1;
	}`, r[2], hex(6.87), r[2], hex(7.07), r[1], r[1])
		})
	}
	b := openFake(t, f)
	b.Method = Direct
	p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.3}
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = -1, -1
	}
	// Record 0 flips; one row in each half beside the path: at 1, 2, 4, ...
	x[0], y[0] = -1, 1
	kinds := []float64{1, 0.8} // s1 = b, s2 s3 = a, s4 s5 = b ...
	for h := range m {
		i := 1 << h
		y[i], x[i] = 1, kinds[1-(h+1)/2%2]
	}
	w := []float64{-0.3}
	distance := func(x, y []float64) float64 {
		e := bound(t, b, p, x, y)
		dst, exact := []float64{0}, []float64{0}
		must.Do(t, e.Sum(t.Context(), dst, engine.Gradient(w, engine.AllPairs{N: n})))
		for i := range n {
			for j := range n {
				if y[i] != y[j] {
					p.Loss.AddGrad(exact, w, engine.Record{X: x[i : i+1], Y: y[i]}, engine.Record{X: x[j : j+1], Y: y[j]})
				}
			}
		}
		return dst[0] - exact[0]
	}
	labels := slices.Clone(y)
	labels[0] = -1
	change := math.Abs(distance(x, y)-distance(x, labels)) / 2
	k := must.Get(b.Plan(p))(t)
	near := k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).OneRecord()
	r, a := k.(*kernel).ownError()
	alone := 4 * (n - 1) * (r*2 + a)
	if edits == 0 {
		t.Error("no reciprocal was disturbed")
	}
	if change > near || change <= alone {
		t.Errorf("change %g, bound %g, with b = 0 %g", change, near, alone)
	}
}
