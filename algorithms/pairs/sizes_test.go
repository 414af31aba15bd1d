package pairs_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// ring are the pairs (v, v+1) of n individuals, each in two, with labels in turn.
func ring(t testing.TB, n int) (*pairgraph.Graph, []bool) {
	t.Helper()
	list, labels := make([]pairgraph.Pair, n), make([]bool, n)
	for v := range list {
		list[v], labels[v] = pairgraph.Pair{A: int32(v), B: int32((v + 1) % n)}, v%2 == 0
	}
	g := must.Get(pairgraph.New(n, list))(t)
	return g, labels
}

// features are n rows of one direction that fills every coordinate, of norms 0.1 to 0.9 in the norm of s.
func features(s pairs.Spec) []float64 {
	r := rand.New(rand.NewPCG(3, 3))
	x := make([]float64, s.Individuals*s.Dim)
	for v := range s.Individuals {
		row, size := x[v*s.Dim:][:s.Dim], 0.0
		for k := range row {
			row[k] = math.Abs(r.NormFloat64()) + 0.1
			size += math.Abs(row[k])
		}
		if s.Norm() == embedding.L2 {
			size = 0
			for _, v := range row {
				size = math.Hypot(size, v)
			}
		}
		for k := range row {
			row[k] *= (0.1 + 0.8*r.Float64()) * s.Bound / size
		}
	}
	return x
}

// opposite is x with the record of one individual turned around, at the bound of the norm.
func opposite(s pairs.Spec, x []float64, unit int) []float64 {
	y := slices.Clone(x)
	for k := range s.Dim {
		y[unit*s.Dim+k] *= -1000
	}
	return y
}

// At all sizes, and wherever the individual stands, replacing its record and the labels of its pairs moves the releases by no
// more than the certificate, for every method and noise of pairs, and by a fifth of it somewhere. Gradients are much longer
// than the clip, so that a sum without clipping moves by more.
func TestPairsOfEverySize(t *testing.T) {
	base := pairs.Spec{Bound: 1, Loss: embedding.Contrastive{Margin: 1e6}, Rows: 2, Kappa: 2, Epochs: 1, Clip: 1e-6, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}}
	for _, c := range sizes.Cells(t, 3e5, 1) {
		for name, change := range map[string]func(*pairs.Spec){
			"Gaussian":    func(*pairs.Spec) {},
			"Laplace":     func(s *pairs.Spec) { s.Budget.Delta, s.Noise = 0, privacy.LaplaceNoise },
			"K-norm":      func(s *pairs.Spec) { s.Budget.Delta, s.Noise = 0, privacy.KNormNoise },
			"preferences": func(s *pairs.Spec) { s.Loss, s.Rows = embedding.BradleyTerry{}, 1 },
			"moments":     func(s *pairs.Spec) { *s = moments(*s); s.Clip = 0.01 },
		} {
			s := base
			s.Dim, s.Individuals, s.Pairs, s.Batch = c.D, c.N, c.N, c.N
			change(&s)
			if s.Method == pairs.Moments && (s.Dim > 65 || s.Dim*s.Dim*s.Pairs > 2e6) {
				continue
			}
			p := planOf(t, s)
			g, labels := ring(t, c.N)
			x, flipped, one := features(s), slices.Clone(labels), slices.Clone(labels)
			one[c.Unit] = !one[c.Unit]
			for i, e := range g.Pairs() {
				if int(e.A) == c.Unit || int(e.B) == c.Unit {
					flipped[i] = !flipped[i]
				}
			}
			data, closest := newData(t, s, x, g, labels), 0.0
			for _, other := range []*embedding.Data{newData(t, s, x, g, one), newData(t, s, x, g, flipped), newData(t, s, opposite(s, x, c.Unit), g, labels), newData(t, s, opposite(s, x, c.Unit), g, flipped)} {
				closest = max(closest, replayed(t, p, data, other)/p.Certificate().Sensitivity())
			}
			must.Within(t, closest, 0.2, 1, "%s, %v: an individual moves the releases by ... of the certificate", name, c)
		}
	}
}

// The like for tuples and all pairs.
func TestTuplesOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 3e5, 1) {
		for name, change := range map[string]func(*pairs.Spec){
			"triplet":         func(s *pairs.Spec) { s.Loss = embedding.Triplet{Margin: 1e6} },
			"npair":           func(s *pairs.Spec) { s.Loss = embedding.NPair{Temperature: 1e-3} },
			"contrastive":     func(s *pairs.Spec) { s.Loss = embedding.Contrastive{Margin: 1e6} },
			"K-norm":          func(s *pairs.Spec) { s.Budget.Delta = 0 },
			"Laplace":         func(s *pairs.Spec) { s.Budget.Delta, s.Noise = 0, privacy.LaplaceNoise },
			"all pairs":       func(s *pairs.Spec) { *s = allPairsSpec(); s.Loss = embedding.Contrastive{Margin: 1e6} },
			"network, npair":  func(s *pairs.Spec) { s.Loss = embedding.NPair{Temperature: 1e-3}; s.Network = networkOf(t, c.D) },
			"network triplet": func(s *pairs.Spec) { s.Network = networkOf(t, c.D) },
		} {
			s := tupleSpec()
			s.Loss, s.Batch = embedding.Triplet{Margin: 1e6}, 0
			change(&s)
			s.Rows, s.Dim, s.Individuals, s.Epochs, s.Clip = 2, c.D, c.N, 2, 1e-4
			if s.Network != nil {
				s.Rows = 0
			}
			if !s.AllPairs {
				s.Tuple = min(4, c.N)
			}
			if s.AllPairs && c.D*c.N*c.N > 1e7 {
				continue
			}
			p := tuplePlan(t, s)
			who := people{features(s), make([]int32, c.N)}
			for v := range who.classes {
				who.classes[v] = int32(v % 2)
			}
			other := people{opposite(s, who.x, c.Unit), slices.Clone(who.classes)}
			other.classes[c.Unit] = 1 - other.classes[c.Unit]
			must.AtMost(t, tupleMove(t, p, who, other, own)/p.Certificate().Sensitivity(), 1, "%s, %v: an individual moves the releases by", name, c)
		}
	}
}

// networkOf is a small network of d features.
func networkOf(t testing.TB, d int) *pairs.Network {
	t.Helper()
	net := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: []int{3}, Out: 2}))(t)
	return &pairs.Network{Model: embedding.Model{Network: net, Output: embedding.Output{Unit: true}}, Start: net.Start(3), Origin: "public start of seed 3", Optimizer: algorithms.Optimizer{Update: "adam", Decay: "linear"}}
}

// Features and labels that individuals perturb carry noise at every place: in each record, in each coordinate, in each label.
func TestPerturbedInputsOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 3e5, 1) {
		for _, byClass := range []bool{true, false} {
			s := pairs.Spec{
				Individuals: c.N, Pairs: c.N, Dim: c.D, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 1, Kappa: 2, Method: pairs.Input, ByClass: byClass,
				Budget: privacy.Budget{Epsilon: 1}, Epochs: 1,
			}
			p := planOf(t, s)
			g, labels := ring(t, c.N)
			var classes []int32
			if byClass {
				classes = make([]int32, c.N)
				labels = make([]bool, c.N)
			}
			data := newData(t, s, make([]float64, c.N*c.D), g, labels)
			draws := max(12, 4000/min(c.N, 4000), 1200/c.D/min(c.N, 20))
			rows, coordinates, flips := make([]float64, c.N), make([]float64, c.D), make([]float64, c.N)
			source, all := privacy.NewSeededSource(6), 0.0
			for range draws {
				noisy := must.Get(p.Perturb(data, classes, source))(t)
				for v := range c.N {
					for k, z := range noisy.Row(v) {
						rows[v] += math.Abs(z)
						coordinates[k] += math.Abs(z)
						all += math.Abs(z)
					}
					if noisy.Label(v) != labels[v] {
						flips[v]++
					}
				}
			}
			// Noise is scaled down to the bound, so its size is compared with that of the others.
			around := func(what string, i int, sum, want, samples float64) {
				if off := 6/math.Sqrt(samples) + 0.02; math.Abs(sum/want-1) > off {
					t.Errorf("%v, by class %v: %s %d has %v of the noise of the others", c, byClass, what, i, sum/want)
				}
			}
			for v := range rows {
				around("record", v, rows[v], all/float64(c.N), float64(draws*c.D))
			}
			for k := range coordinates {
				around("coordinate", k, coordinates[k], all/float64(c.D), float64(draws*c.N))
			}
			total := 0.0
			for _, f := range flips {
				total += f
			}
			must.Within(t, total/float64(c.N*draws), 0.1, 0.6,
				"%v, by class %v: ... of the labels are flipped at epsilon 0.5 for them", c, byClass)
			const block = 16 // labels that stand next to each other
			for v := 0; v < c.N; v += block {
				sum, n := 0.0, min(block, c.N-v)
				for _, f := range flips[v : v+n] {
					sum += f
				}
				around("the block of labels at", v, sum, total*float64(n)/float64(c.N), float64(n*draws)*total/float64(c.N*draws)/2)
			}
			for _, v := range []int{0, c.Unit, c.N - 1} {
				if flips[v] == 0 && draws > 100 {
					t.Errorf("%v, by class %v: label %d is never flipped", c, byClass, v)
				}
			}
		}
	}
}
