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
)

// probe is a kernel that hands out the records that it is bound to.
type probe struct {
	engine.Kernel
	bound *[]*engine.Records
}

func (p probe) Bind(r *engine.Records) (engine.Evaluator, error) {
	*p.bound = append(*p.bound, r)
	return p.Kernel.Bind(r)
}

// Gradients of a recentred kernel are over clip(x - c, R) X/R: every such record is within the
// bounds by exact arithmetic, has the same bits whatever the other records are, and the gradient
// is that of these records; for dense and sparse rows.
func TestRecentred(t *testing.T) {
	const n, d = 40, 5
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, b := range []engine.Bounds{engine.UnitBounds(), {FeatureNorm: 3.7, LabelAbs: 0.3}, {FeatureNorm: 0x1p-240, LabelAbs: 40}} {
		x, y := make([]float64, n*d), make([]float64, n)
		var index []int32
		var value []float64
		start := []int64{0}
		for i := range y {
			y[i] = b.LabelAbs * float64(1-2*(i%2))
			for k := range d {
				if rng.IntN(2) == 0 {
					x[i*d+k] = b.FeatureNorm * rng.NormFloat64()
					index, value = append(index, int32(k)), append(value, x[i*d+k])
				}
			}
			start = append(start, int64(len(value)))
		}
		dense, err := engine.NewRecords(x, y, d, b)
		if err != nil {
			t.Fatal(err)
		}
		sparse, err := engine.NewSparseRecords(start, index, value, slices.Clone(y), d, b)
		if err != nil {
			t.Fatal(err)
		}
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
				k, err := engine.PlanRecentred(cpu.Backend{Workers: 2}, p)
				if err != nil {
					t.Fatal(err)
				}
				var bound []*engine.Records
				k.Kernel = probe{k.Kernel, &bound}
				ev, err := k.Bind(r)
				if err != nil {
					t.Fatal(err)
				}
				w, dst := make([]float64, d), make([]float64, d)
				w[0], w[1] = 0.3/b.FeatureNorm, -0.2/b.FeatureNorm
				if err := ev.GradSum(ctx, dst, w, engine.AllPairs{N: n}); err == nil {
					t.Error("gradients of records that have not been moved")
				}
				mover := ev.(engine.RecentringEvaluator)
				cancelled, cancel := context.WithCancel(ctx)
				cancel()
				if err := mover.Recentre(cancelled, centre, clip); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
				if err := mover.Recentre(ctx, centre[:1], clip); err == nil {
					t.Error("a centre of one number")
				}
				if err := mover.Recentre(ctx, nil, clip); err != nil { // and then to another
					t.Fatal(err)
				}
				if err := mover.Recentre(ctx, centre, clip); err != nil {
					t.Fatal(err)
				}
				if err := ev.GradSum(ctx, dst, w, engine.AllPairs{N: n}); err != nil {
					t.Fatal(err)
				}
				sums = append(sums, dst)
				if k.Problem().NonZerosPerRow != p.NonZerosPerRow || !(k.NeighbourRoundoff(p.Pairs()) <= k.Roundoff(p.Pairs())) {
					t.Errorf("problem %+v, roundoff %v and %v", k.Problem(), k.NeighbourRoundoff(p.Pairs()), k.Roundoff(p.Pairs()))
				}
				moved := bound[len(bound)-1]
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
				if err := ev.Close(); err != nil {
					t.Error(err)
				}
				// A neighbour: all records but one have the same bits.
				if r == dense {
					changed := slices.Clone(x)
					for k := range d {
						changed[7*d+k] = -changed[7*d+k] + 0.1*b.FeatureNorm
					}
					neighbour, err := engine.NewRecords(changed, y, d, b)
					if err != nil {
						t.Fatal(err)
					}
					ev, err := k.Bind(neighbour)
					if err != nil {
						t.Fatal(err)
					}
					if err := ev.(engine.RecentringEvaluator).Recentre(ctx, centre, clip); err != nil {
						t.Fatal(err)
					}
					other := bound[len(bound)-1].Dense()
					for i := range n {
						if same := slices.Equal(other[i*d:][:d], moved.Dense()[i*d:][:d]); same != (i != 7) {
							t.Errorf("record %d of the neighbour: same bits %t", i, same)
						}
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
