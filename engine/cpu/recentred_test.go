package cpu_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// Gradients of a recentred kernel are over clip(x - c, R) X/R: every such record is within the
// bounds by exact arithmetic, has the same bits whatever the other records are, and the gradient
// is that of these records; for dense and sparse rows.
func TestRecentred(t *testing.T) {
	const n, d = 40, 5
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, b := range []engine.Bounds{engine.UnitBounds(), {FeatureNorm: 3.7, LabelAbs: 0.3}, {FeatureNorm: 0x1p-240, LabelAbs: 40}} {
		x, y := make([]float64, n*d), make([]float64, n)
		for i := range y {
			y[i] = b.LabelAbs * float64(1-2*(i%2))
			for k := range d {
				if rng.IntN(2) == 0 {
					x[i*d+k] = b.FeatureNorm * rng.NormFloat64()
				}
			}
		}
		dense := must.Get(engine.NewRecords(x, y, d, b))(t)
		sparse := sparsely(t, x, y, d, b)
		problem := engine.Problem{N: n, D: d, Bounds: b, Loss: engine.Logistic{}, Radius: 0.5 / b.FeatureNorm}
		centre := make([]float64, d)
		for k := range centre {
			centre[k] = 0.2 * b.FeatureNorm * rng.NormFloat64()
		}
		for _, clip := range []float64{0.2 * b.FeatureNorm, 2 * b.FeatureNorm} {
			var sums [][]float64
			for _, r := range []*engine.Records{dense, sparse} {
				p := problem
				if r.IsSparse() {
					p.NonZerosPerRow = d
				}
				k := must.Get(engine.PlanRecentred(cpu.Backend{Workers: 2}, p))(t)
				var moved *engine.Records
				gradients := k.Kernel.Problem()
				k.Kernel = must.Get((enginetest.Altered{Backend: cpu.Backend{Workers: 2}, Records: func(r *engine.Records) *engine.Records {
					moved = r
					return r
				}}).Plan(gradients))(t)
				ev := must.Get(k.Bind(r))(t)
				w, dst := make([]float64, d), make([]float64, d)
				w[0], w[1] = 0.3/b.FeatureNorm, -0.2/b.FeatureNorm
				plain := must.Get(cpu.Backend{Workers: 2}.Plan(problem))(t)
				unmoved := must.Get(plain.Bind(dense))(t)
				stay := make([]float64, d)
				if err := errors.Join(ev.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: n})), unmoved.Sum(ctx, stay, engine.Gradient(w, engine.AllPairs{N: n}))); err != nil || r == dense && !slices.Equal(dst, stay) {
					t.Errorf("gradients over the records as they are: %v, want %v, %v", dst, stay, err)
				}
				q := engine.Query{Pairs: engine.AllPairs{N: n}, W: w, Centre: centre, Radius: clip}
				if err := unmoved.Sum(ctx, dst, q); !errors.Is(err, engine.ErrUnsupported) || !math.IsInf(plain.Bounds(q).Sum, 1) {
					t.Errorf("moved records by a kernel of the records as they are: %v", err)
				}
				cancelled, cancel := context.WithCancel(ctx)
				cancel()
				must.FailDo(t, ev.Sum(cancelled, dst, q), context.Canceled, "cancelled")
				short, origin, still := q, q, q
				short.Centre, origin.Centre, still.Radius = centre[:1], nil, 0
				must.ErrDo(t, ev.Sum(ctx, dst, short), "a centre of one number")
				if ev.Sum(ctx, dst, still) == nil || unmoved.Sum(ctx, dst, still) == nil {
					t.Error("a centre without a radius")
				}
				must.Do(t, errors.Join(ev.Sum(ctx, dst, origin), ev.Sum(ctx, dst, q))) // and then to another
				sums = append(sums, dst)
				if k.Problem().NonZerosPerRow != p.NonZerosPerRow || !(k.Bounds(engine.Query{Pairs: p.Pairs()}).OneRecord() <= k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum) {
					t.Errorf("problem %+v, roundoff %v and %v", k.Problem(), k.Bounds(engine.Query{Pairs: p.Pairs()}).OneRecord(), k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum)
				}
				first := moved.Dense()
				row, want := make([]float64, d), make([]float64, n*d)
				for i := range n {
					r.Row(i, want[i*d:][:d])
					for k := range d {
						want[i*d+k] -= centre[k]
					}
					engine.ProjectBall(want[i*d:][:d], clip)
					moved.Row(i, row)
					for k := range d {
						want[i*d+k] *= b.FeatureNorm / clip
						if math.Abs(want[i*d+k]-row[k]) > 1e-12*b.FeatureNorm {
							t.Fatalf("record %d is moved to %v, want %v", i, row, want[i*d:][:d])
						}
					}
				}
				must.CheckDo(t, ev.Close())
				// A neighbour: all records but one have the same bits.
				if r == dense {
					changed := slices.Clone(x)
					for k := range d {
						changed[7*d+k] = -changed[7*d+k] + 0.1*b.FeatureNorm
					}
					neighbour := must.Get(engine.NewRecords(changed, y, d, b))(t)
					ev := must.Get(k.Bind(neighbour))(t)
					must.Do(t, ev.Sum(ctx, make([]float64, d), q))
					other := moved.Dense()
					for i := range n {
						must.Equal(t, slices.Equal(other[i*d:][:d], first[i*d:][:d]), i != 7, "record %d of the neighbour: same bits", i)
					}
				}
			}
			for k := range d { // rows are projected in another order of additions
				if math.Abs(sums[0][k]-sums[1][k]) > 1e-12*n*n*b.FeatureNorm*b.LabelAbs {
					t.Errorf("sparse rows give %v, dense ones %v", sums[1], sums[0])
				}
			}
		}
	}
}
