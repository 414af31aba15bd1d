package cpu_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// TestRecordStaysInItsGroup: a record that changes leaves the sums of the other groups alone to
// the last bit, by every variant and for smooth and other losses (engine.Grouped's
// NeighbourRoundoff). Each group has features of its own, so its sum is seen in their coordinates.
func TestRecordStaysInItsGroup(t *testing.T) {
	sizes.NotShort(t, "slow")
	sizes, each := []int{2, 17, 130, 700}, 2
	n, d := 0, each*len(sizes)
	for _, s := range sizes {
		n += s
	}
	rng := rand.New(rand.NewPCG(81, 26))
	x, y := make([]float64, n*d), make([]float64, n)
	row := func(g int, at []float64) {
		clear(at)
		for k := range each {
			at[g*each+k] = rng.Float64() - 0.5
		}
	}
	i := 0
	for g, s := range sizes {
		for range s {
			row(g, x[i*d:][:d])
			y[i] = float64(2*rng.IntN(2) - 1)
			i++
		}
	}
	losses := []engine.Loss{engine.Logistic{}, engine.Score{Of: expression(t, "hinge", nil)}, engine.MahalanobisLogistic{}}
	for _, phi := range kinksAt(t, 0, 2.8)[:2] {
		losses = append(losses, engine.Score{Of: phi}, engine.Metric{Of: phi})
	}
	for _, loss := range losses {
		for _, v := range kernels.Variants() {
			p := problem(n, d, 1)
			p.Loss, p.Groups = loss, sizes
			w := make([]float64, loss.ParamDim(d))
			for k := range w {
				w[k] = rng.Float64() / 20
			}
			k := must.Get(engine.Grouped{Backend: cpu.Backend{Variant: v}}.Plan(p))(t)
			sum := func(x, y []float64) []float64 {
				e := must.Get(k.Bind(adoptRecords(t, x, y, d)))(t)
				defer e.Close()
				dst := make([]float64, len(w))
				must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(w, p.Pairs())))
				return dst
			}
			before, at, changed := sum(x, y), 0, 0
			for g, s := range sizes {
				other, labels := slices.Clone(x), slices.Clone(y)
				row(g, other[at*d:][:d])
				labels[at] = -labels[at]
				after, name := sum(other, labels), fmt.Sprintf("%s, %v, group %d", loss.Name(), v, g)
				for h := range sizes {
					same := true
					for a := h * each; a < (h+1)*each; a++ {
						if _, metric := loss.(engine.MetricLoss); !metric {
							same = same && before[a] == after[a]
							continue
						}
						for b := a; b < (h+1)*each; b++ {
							at := engine.Symmetric{Dim: d}.Index(a, b)
							same = same && before[at] == after[at]
						}
					}
					switch {
					case h == g && !same:
						changed++
					case h != g && !same:
						t.Errorf("%s: the sum of group %d changes", name, h)
					}
				}
				at += s
			}
			if changed < len(sizes)-1 {
				t.Errorf("%s, %v: only %d groups change with their records", loss.Name(), v, changed)
			}
		}
	}
}
