package embedding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/kernels"
)

// alone is what a model computes for one record: f, the bound of the Jacobian's norm, and the rows of the
// Jacobian.
func alone(p *modelPass, m, parameters int, x []float64, rows, at int) []float64 {
	f, norms, scale := make([]float64, rows*m), make([]float64, rows), make([]float64, rows)
	for i := range scale {
		scale[i] = 1
	}
	p.embed(f, norms, x, rows)
	all := append(append([]float64(nil), f[at*m:][:m]...), norms[at])
	for k := range m {
		v, row := make([]float64, rows*m), make([]float64, parameters)
		v[at*m+k] = 1
		p.pull(row, v, scale, rows)
		all = append(all, row...)
	}
	return all
}

// dependence says where what a model of d features computes for a record depends on other records, on its
// place or on what a pass computed before; "" if nowhere.
func dependence(model Model, set *kernels.Set, rng *rand.Rand) string {
	d, m := model.Dims()
	parameters := Parameters(model.Network)
	theta := model.Network.Start(rng.Uint64())
	used := model.newPass(set)
	used.Set(theta)
	for _, rows := range []int{1, 2, 3, 5, 16, 63, 64} {
		x := make([]float64, rows*d)
		for i := range x {
			x[i] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(5)-3))
		}
		at := rng.IntN(rows)
		fresh := model.newPass(set)
		fresh.Set(theta)
		want := alone(fresh, m, parameters, x[at*d:][:d], 1, 0)
		for i, got := range alone(used, m, parameters, x, rows, at) {
			if math.Float64bits(got) != math.Float64bits(want[i]) && got != want[i] {
				return fmt.Sprintf("number %d of record %d of %d is %v, by itself %v", i, at, rows, got, want[i])
			}
		}
	}
	return ""
}

// TestRecordsAreComputedAlone compares what is computed for a record by itself with the same record at every
// kind of place in blocks of all kinds of sizes, next to other records, by a pass that was used before, bit
// for bit: the certificate of networks rests on that (docs/theory.md#networks).
func TestRecordsAreComputedAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, v := range kernels.Variants() {
		set := must.Get(kernels.Select(v))(t)
		for _, d := range []int{1, 3, 5, 17, 64} {
			for _, hidden := range [][]int{nil, {7}, {32}, {6, 5}} {
				for _, act := range []Activation{Tanh, Softplus} {
					net := must.Get(NewMLP(MLP{In: d, Hidden: hidden, Out: 3, Activation: act}))(t)
					model := Model{Network: net, Output: []Output{{}, {Unit: true}, {Within: 0.3}}[rng.IntN(3)]}
					must.Equal(t, dependence(model, set, rng), "", "%v, %s %+v", v, net.Name(), model.Output)
				}
			}
		}
	}
}

// centred is a network with a known defect: embeddings are centred within a block.
type centred struct{ MLP }

func (c centred) NewPass(set *kernels.Set) Pass { return centredPass{c.MLP.NewPass(set), c.Out} }

type centredPass struct {
	Pass
	m int
}

func (c centredPass) Embed(g, norms, x []float64, rows int) {
	c.Pass.Embed(g, norms, x, rows)
	for k := range c.m {
		var sum float64
		for i := range rows {
			sum += g[i*c.m+k]
		}
		for i := range rows {
			g[i*c.m+k] -= sum / float64(rows)
		}
	}
}

func TestNormalisedBatchesAreFound(t *testing.T) {
	set := must.Get(kernels.Select(kernels.Generic))(t)
	net := centred{MLP{In: 3, Hidden: []int{4}, Out: 2}}
	if dependence(Model{Network: net}, set, rand.New(rand.NewPCG(1, 1))) == "" {
		t.Error("embeddings that are centred within a block pass for functions of one record")
	}
}

// TestNormsBoundJacobians compares the bounds of the Jacobians' norms with the Jacobians: never below,
// and equal where there is no stage.
func TestNormsBoundJacobians(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	set := must.Get(kernels.Select(kernels.Best))(t)
	for _, hidden := range [][]int{nil, {4}, {4, 6}} {
		for _, output := range []Output{{}, {Unit: true}, {Within: 0.2}} {
			net := must.Get(NewMLP(MLP{In: 5, Hidden: hidden, Out: 3, Activation: Softplus}))(t)
			p := Model{Network: net, Output: output}.newPass(set)
			p.Set(net.Start(rng.Uint64()))
			for range 20 {
				x := make([]float64, 5)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				all := alone(p, 3, Parameters(net), x, 1, 0)
				bound, norm := all[3], math.Sqrt(sumOfSquares(all[4:]))
				if norm > bound || output == (Output{}) && bound > norm*(1+1e-5) {
					t.Errorf("%s %+v: norm %g, bound %g", net.Name(), output, norm, bound)
				}
			}
		}
	}
}

// TestReachHolds searches for embeddings beyond the proved range, and for networks that come near it.
func TestReachHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, hidden := range [][]int{nil, {3}, {3, 2}} {
		for i := range 6 {
			act, unit, size := []Activation{Tanh, Softplus}[i%2], i/2 > 0, []float64{1, 1, 1e-3}[i/2]
			net := must.Get(NewMLP(MLP{In: 2, Hidden: hidden, Out: 2, Activation: act, Radii: []float64{4 * size, 1.5 * size, 3 * size}[:len(hidden)+1]}))(t)
			// An output of unit length is longer than what it is made from, if that is short.
			model, closest := Model{Network: net, Output: Output{Unit: unit}}, 0.0
			for range 3000 {
				theta, one := make([]float64, Parameters(net)), rng.IntN(2) == 0
				for i := range theta {
					theta[i] = rng.NormFloat64() * 100
					if one && rng.IntN(3) > 0 {
						theta[i] = 0
					}
				}
				projectLayers(net.Layers(), theta)
				angle := 2 * math.Pi * rng.Float64()
				f := make([]float64, 2)
				must.Do(t, model.Embed(f, theta, []float64{math.Cos(angle), math.Sin(angle)}, 1))
				closest = max(closest, math.Sqrt(sumOfSquares(f))/model.Reach(1))
			}
			if closest > 1 || closest < 0.3 {
				t.Errorf("%s, unit %t, balls of %g: embeddings reach %g of the bound", net.Name(), unit, size, closest)
			}
		}
	}
}
