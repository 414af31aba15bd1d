package cuda

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// networkNeighbours are two data sets of n units of up to most rows that differ in the last one: rows are random, or all alike
// with the last unit turned around, or its labels turned.
func networkNeighbours(t testing.TB, rng *rand.Rand, n, d, most int) (all [2]*engine.Records) {
	t.Helper()
	kind, label := min(rng.IntN(6), 3), 1.0
	direction := make([]float64, d)
	direction[0] = 1
	seed := rng.Uint64()
	for side := range all {
		var x, y []float64
		var of []int32
		rng := rand.New(rand.NewPCG(seed, 1))
		for p := range n {
			if p == n-1 {
				rng = rand.New(rand.NewPCG(seed, uint64(2+side)))
			}
			for range 1 + rng.IntN(max(most, 1)) {
				of = append(of, int32(p))
				last := p == n-1 && side == 1
				row, own := make([]float64, d), label
				for k, v := range direction {
					if row[k] = v; last && kind != 1 {
						row[k] = -v
					}
				}
				if kind == 0 {
					fillUnit(rng, row, 1)
					own = float64(2*rng.IntN(2) - 1)
				} else if last && kind != 2 {
					own = -label
				}
				x, y = append(x, row...), append(y, own)
			}
		}
		if all[side] = must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t); most > 0 {
			all[side] = must.Get(all[side].GroupPersons(of, n, most))(t)
		}
	}
	return all
}

// networkMoves searches for neighbours among tries and returns the largest move of the sum, relatively to 2 (n-1) Dg + 2 rho.
func networkMoves(t *testing.T, f *fakeDriver, tries int) (worst float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 8))
	b := openFake(t, f)
	cases := networkCases()
	for try := 0; try < tries && worst <= 1; try++ {
		c := cases[try%len(cases)]
		if try%3 == 1 { // scores are linear, so they come near
			c = cases[4]
		}
		c.clip = []float64{0.1, 1, 5}[rng.IntN(3)]
		if len(c.hidden) > 0 && c.hidden[0] > 9 {
			c.hidden = []int{4}
		}
		l, n, most := c.loss(t, 3), 2+rng.IntN(6), 3*rng.IntN(2)
		theta := networkAt(l, 3, rng)
		if try%3 == 0 { // Jacobians of the first layer
			net := l.Model.Network
			first := net.Layers()[0].Len()
			for k := range theta[:first] {
				theta[k] *= 1e-3
			}
		}
		if c.hidden == nil && c.file == "" { // scores along the direction of the records are far apart
			clear(theta)
			theta[0] = -2 * rng.Float64()
		}
		var sums [2][]float64
		var rounding float64
		for side, r := range networkNeighbours(t, rng, n, 3, most) {
			sums[side], rounding = must.Get2(networkSum(embedding.Backend{On: b}, networkProblem(l, r, most), r, theta, 1))(t)
		}
		constants := must.Get(l.Constants(engine.UnitBounds(), l.Radius()))(t)
		worst = max(worst, apartBy(sums[0], sums[1])/(2*float64(n-1)*constants.PairDiameter+2*rounding))
	}
	return worst
}

// TestNetworkNeighbours: no record and no person that is replaced moves a sum by more than its certificate, and some come near. A
// kernel that leaves the first layer out of the norm of a Jacobian is found, and one that leaves its clipping to a wrong slope.
func TestNetworkNeighbours(t *testing.T) {
	tries := sizes.Of(18, 90)
	worst := networkMoves(t, newFake(), tries)
	if t.Logf("the largest move is %.3g of the certificate", worst); !(worst > 0.3 && worst <= 1) {
		t.Errorf("the largest move is %g of the certificate", worst)
	}
	last := regexp.MustCompile(`(?s)(\.entry network_output\(.*\n\t)fma\.rn\.f64 \t(%fd\d+), %fd\d+, %fd\d+, (%fd\d+);`)
	f := newFake()
	f.edit = func(ptx string) string {
		at := strings.Index(ptx, ".entry network_output(")
		end := at + strings.Index(ptx[at:], "\n}")
		return ptx[:at] + last.ReplaceAllString(ptx[at:end], "${1}mov.f64 \t$2, $3;") + ptx[end:]
	}
	if found := networkMoves(t, f, min(tries, 36)); !(found > 1) || !f.edited {
		t.Errorf("norms without the first layer move a sum by %g of the certificate", found)
	}
}

// TestNetworkReplay: trainings of networks on a GPU, of all pairs, within query groups and on secret batches, move between neighbours by at
// most what they are charged for.
func TestNetworkReplay(t *testing.T) {
	const n, d = 12, 3
	for _, c := range []struct {
		name      string
		network   int
		groups    []int
		algorithm algorithms.Algorithm
	}{
		{"all pairs", 0, nil, algorithms.GradientPerturbation{Steps: 2, Optimizer: algorithms.NetworkOptimizer()}},
		{"two hidden layers", 2, nil, algorithms.GradientPerturbation{Steps: 2}},
		{"groups", 1, []int{5, 1, 6}, algorithms.GradientPerturbation{Steps: 2}},
		{"batches", 0, nil, algorithms.SubsampledDescent{BatchRecords: 5, Steps: 2}},
		{"cosines", 6, nil, algorithms.GradientPerturbation{Steps: 2}},
		{"cosines of two hidden layers", 9, nil, algorithms.GradientPerturbation{Steps: 2}},
		{"a file", 12, nil, algorithms.GradientPerturbation{Steps: 2}},
	} {
		l := networkCases()[c.network].loss(t, d)
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: l, Radius: l.Radius(), Groups: c.groups}
		replays(t, c.name, embedding.Backend{On: openFake(t, newFake())}, p, c.algorithm, 2, 0.01)
	}
}

// jacobian is what a GPU computes for record i of r: its embedding, the bound of the norm, and J_i by rows.
func jacobian(t *testing.T, b Backend, net embedding.Network, r *engine.Records, i int, theta []float64) (all []float64) {
	t.Helper()
	k := must.Get(b.PlanRows(embedding.RowsProblem{Network: net, Norm: 1, Rows: r.Len(), Most: 1e6}))(t)
	e := must.Get(k.Bind(r))(t)
	_, m := net.Dims()
	g, norms := make([]float64, r.Len()*m), make([]float64, r.Len())
	must.Do(t, e.Embed(context.Background(), g, norms, theta))
	all = append(append(all, g[i*m:][:m]...), norms[i])
	for row := range m {
		v, grad := make([]float64, len(g)), make([]float64, len(theta))
		v[i*m+row] = 1
		must.Do(t, e.Pull(context.Background(), grad, v))
		all = append(all, grad...)
	}
	must.Do(t, e.Close())
	return all
}

// TestNetworkPlaces: what is computed for a record has the same bits alone, at every kind of place, and next to others, and
// is not longer than the bound of its norm, which is close.
func TestNetworkPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	b := openFake(t, newFake())
	if ptx := kernels.PTX("network"); strings.Contains(ptx, ".approx") || strings.Contains(ptx, ".ftz") {
		t.Error("an instruction whose rounding is not that of IEEE 754")
	}
	for _, at := range []int{0, 1, 2, 5, 7, 9, 11} {
		c := networkCases()[at]
		d, places := 3+at, []int{0, 63, 64, 270}
		l := c.loss(t, d)
		net, theta, x := l.Model.Network, networkAt(l, d, rng), make([]float64, d)
		fillUnit(rng, x, 0.9)
		alone := must.Get(engine.AdoptRecords(x, []float64{1}, d, engine.UnitBounds()))(t)
		want := jacobian(t, b, net, alone, 0, theta)
		size := norm2(want[c.m+1:])
		if norm := want[c.m]; !(size <= norm && size >= 0.9999*norm-1e-9) {
			t.Errorf("%s: a Jacobian of norm %v, with the bound %v", net.Name(), size, norm)
		}
		for _, place := range places[rng.IntN(2)*2:][:2] {
			n := place + 1 + rng.IntN(40)
			var all, y []float64
			for i := range n {
				row := make([]float64, d)
				if fillUnit(rng, row, 1); i == place {
					copy(row, x)
				}
				all, y = append(all, row...), append(y, 1)
			}
			r := must.Get(engine.AdoptRecords(all, y, d, engine.UnitBounds()))(t)
			must.Same(t, jacobian(t, b, net, r, place, theta), want, "%s: record %d of %d has other bits than alone", net.Name(), place, n)
		}
	}
}
