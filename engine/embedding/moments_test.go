package embedding

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
)

// pairsOf are n random records of d features, some beyond the bound, and count different pairs.
func pairsOf(t *testing.T, n, d, count int, bound float64) *Data {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var list []pairgraph.Pair
	for b := 1; b < n && len(list) < count; b++ {
		for a := 0; a < b && len(list) < count; a++ {
			list = append(list, pairgraph.Pair{A: int32(a), B: int32(b)})
		}
	}
	g, err := pairgraph.New(n, list)
	if err != nil || len(list) != count {
		t.Fatal(len(list), err)
	}
	x, labels := make([]float64, n*d), make([]bool, count)
	for i := range x {
		x[i] = bound * rng.NormFloat64() / math.Sqrt(float64(d))
	}
	for i := range labels {
		labels[i] = rng.IntN(3) > 0
	}
	return must.Get(NewData(x, d, L2, bound, g, labels))(t)
}

// Sums are those of the clipped differences, in one block of pairs or more, in the same bits for
// every number of workers; a clip that is forgotten, the known defect, is far off.
func TestMomentsOfPairs(t *testing.T) {
	for _, c := range []struct {
		n, d, count int
		bound, clip float64
	}{{4, 3, 5, 1, 0.3}, {40, 7, 700, 2.5, 1.1}, {40, 1, 700, 1e-9, 1e-10}, {420, 2, 80_000, 1, 0.5}} {
		data := pairsOf(t, c.n, c.d, c.count, c.bound)
		sym := engine.Symmetric{Dim: c.d}
		sums := func(workers int) (count float64, all []float64) {
			m := must.Get(NewMoments(data, c.clip, workers))(t)
			all = make([]float64, 2*sym.Len())
			count = must.Get(m.Sum(context.Background(), all[:sym.Len()], all[sym.Len():]))(t)
			return count, all
		}
		count, got := sums(1)
		if again, same := sums(3); again != count || !slices.Equal(same, got) {
			t.Errorf("%+v: 3 workers give other sums", c)
		}
		want, plain, similar := make([]float64, len(got)), make([]float64, len(got)), 0.0
		for i, p := range data.Graph().Pairs() {
			dx, norm := make([]float64, c.d), 0.0
			for k := range dx {
				dx[k] = data.Row(int(p.A))[k] - data.Row(int(p.B))[k]
				norm = math.Hypot(norm, dx[k])
			}
			at := sym.Len()
			if !data.Label(i) {
				at, similar = 0, similar+1
			}
			s := min(1, c.clip/norm)
			for a := range c.d {
				for b := a; b < c.d; b++ {
					unit := math.Sqrt2
					if a == b {
						unit = 1
					}
					want[at+sym.Index(a, b)] += unit * dx[a] * dx[b] * s * s
					plain[at+sym.Index(a, b)] += unit * dx[a] * dx[b]
				}
			}
		}
		e := must.Get(MomentsError(c.count, c.d, c.bound, c.clip))(t)
		far := func(want []float64) (norm float64) {
			for k, v := range got {
				norm = math.Hypot(norm, v-want[k])
			}
			return norm
		}
		// Terms are rounded twice here and clipped a little shorter there.
		allowed := 2*e.Second + 1e-12*float64(c.count)*c.clip*c.clip
		if f := far(want); count != similar || !(f <= allowed) {
			t.Errorf("%+v: %v similar pairs, want %v; sums %v off, allowed %v", c, count, similar, f, allowed)
		}
		if f := far(plain); !(f > 1e6*allowed) {
			t.Errorf("%+v: sums without a clip are %v off", c, f)
		}
		if !(e.Second > 0 && e.Second < 1e-9*float64(c.count)*c.clip*c.clip) {
			t.Errorf("%+v: error %v", c, e.Second)
		}
	}
	data := pairsOf(t, 40, 7, 700, 1)
	m := must.Get(NewMoments(data, 0.5, 2))(t)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	must.Fail(m.Sum(done, make([]float64, 28), make([]float64, 28)))(t, context.Canceled, "cancelled")
	must.Err(NewMoments(pairsOf(t, 4, 3, 1, 1), 1, 1))(t, "one pair was taken")
}
