package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/kernels"
)

func scoreProblem(n, d int) engine.Problem {
	return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
}

func plannedScores(t *testing.T, p engine.Problem, b Backend) *kernel {
	t.Helper()
	b.Method, b.Workers = Direct, 1
	k, err := b.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	return k.(*kernel)
}

// TestSingleScoreNeighbours attacks NeighbourRoundoff of scores: a record changes its features,
// or its label, too, which moves all rows and columns of pairs. The control rounds the sums of a
// tile to 10 bits.
func TestSingleScoreNeighbours(t *testing.T) {
	const n, d = 700, 3
	rng := rand.New(rand.NewPCG(8, 2))
	for _, v := range kernels.Variants() {
		x, y, w := make([]float64, n*d), make([]float64, n), []float64{0.6, -0.8, 0}
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range y {
			y[i] = float64(2*rng.IntN(2) - 1)
		}
		p := scoreProblem(n, d)
		exact, single := plannedScores(t, p, Backend{}), plannedScores(t, p, Backend{Variant: v, Float32: true})
		if !single.single || single.Method() != "direct, fp32" {
			t.Fatalf("%s", single.Method())
		}
		broken, set := *single, *single.set
		broken.set = &set
		set.LogisticTile32 = func(row, col []float64, a, b []float32) {
			single.set.LogisticTile32(row, col, a, b)
			for i, v := range row {
				f, e := math.Frexp(v)
				row[i] = math.Ldexp(math.Floor(f*1024)/1024, e)
			}
		}
		all := []*kernel{exact, single, &broken}
		sum := func(k *kernel, x, y []float64) []float64 {
			e, err := k.Bind(adopt(t, x, y, d))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			dst := make([]float64, d)
			if err := e.GradSum(context.Background(), dst, w, p.Pairs()); err != nil {
				t.Fatal(err)
			}
			return dst
		}
		bound := single.NeighbourRoundoff(p.Pairs())
		if all := single.Roundoff(p.Pairs()); !(bound < all/50) {
			t.Errorf("NeighbourRoundoff %v, Roundoff %v", bound, all)
		}
		var most, bad float64
		for _, at := range []int{0, 350, n - 1} {
			for _, label := range []float64{-1, 1} {
				far, labels := append([]float64(nil), x...), append([]float64(nil), y...)
				for a := range d {
					far[at*d+a] *= -1
				}
				labels[at] = label
				var changes [3][]float64
				for i, k := range all {
					before := sum(k, x, y)
					changes[i] = sum(k, far, labels)
					for a, v := range before {
						changes[i][a] -= v
					}
				}
				most, bad = max(most, norm2(changes[1], changes[0])), max(bad, norm2(changes[2], changes[0]))
			}
		}
		t.Logf("%v: the error changes by %.2g of the bound, with a defect by %.2g", v, most/2/bound, bad/2/bound)
		if !(most <= 2*bound) || most < 1e-4*bound || bad <= 2*bound {
			t.Errorf("%v: the error changes by %v, with a defect by %v, bound %v", v, most, bad, 2*bound)
		}
	}
}

// TestPlanSingleScores: float32 is for two labels, the direct method and margins in its range.
func TestPlanSingleScores(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*engine.Problem, *Backend)
		want   string
	}{
		"two labels":  {func(*engine.Problem, *Backend) {}, "direct, fp32"},
		"float64":     {func(_ *engine.Problem, b *Backend) { b.Float32 = false }, "direct"},
		"any labels":  {func(p *engine.Problem, _ *Backend) { p.LabelValues = engine.AnyLabels }, "direct"},
		"margins":     {func(p *engine.Problem, _ *Backend) { p.Radius = 20 }, "direct"},
		"near-linear": {func(_ *engine.Problem, b *Backend) { b.Method = Auto }, "near-linear"},
		"other loss":  {func(p *engine.Problem, _ *Backend) { p.Loss = otherScore{} }, "direct"},
	} {
		p, b := scoreProblem(5000, 4), Backend{Method: Direct, Float32: true}
		c.change(&p, &b)
		k, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		if k.Method() != c.want {
			t.Errorf("%s: %q, want %q", name, k.Method(), c.want)
		}
		b.Float32 = false
		exact, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		pairs, prefix := p.Pairs(), engine.PrefixPairs{T: 100}
		if float32s := k.Method() == "direct, fp32"; float32s != (k.Roundoff(pairs) > exact.Roundoff(pairs)) || k.Roundoff(prefix) != exact.Roundoff(prefix) {
			t.Errorf("%s: Roundoff %v, %v in float64", name, k.Roundoff(pairs), exact.Roundoff(pairs))
		}
	}
}

// otherScore is a score loss that is no engine.Logistic.
type otherScore struct{ engine.Logistic }
