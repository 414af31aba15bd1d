package gorgonia_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"dyad/algorithms/attack"
	graphs "dyad/autodiff/gorgonia"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/layers"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// files has networks for every kind of layer, and the features of their records.
var files = map[string]struct {
	d    int
	text string
}{
	"dense":          {12, "{layers: [dense: 5, activation: tanh, dense: 4, activation: softplus]}"},
	"narrow":         {1, "{layers: [dense: 1, activation: tanh]}"},
	"wide":           {64, "{layers: [dense: 3, activation: tanh]}"},
	"relu":           {12, "{layers: [dense: 7, activation: relu]}"},
	"silu":           {12, "{layers: [dense: 7, activation: silu]}"},
	"saturated":      {12, "{gain: 30, layers: [dense: 7, activation: silu, dense: 5, activation: softplus, dense: 5, activation: tanh]}"},
	"embedding":      {12, "{layers: [embedding: [{columns: [2, 4], size: 2}, {columns: [7, 7], size: 1}], dense: 4, activation: tanh]}"},
	"late embedding": {12, "{layers: [dense: 6, embedding: [{columns: [1, 4], size: 2}], activation: tanh]}"},
	"residual":       {12, "{layers: [dense: 4, residual: [activation: tanh, dense: 4], activation: tanh]}"},
	"layernorm":      {12, "{layers: [dense: 6, layernorm: true, activation: tanh]}"},
	"convolution":    {12, "{input: [1, 4, 3], layers: [convolution: {channels: 2, size: 2, padding: 1}, activation: tanh, convolution: {channels: 3, size: 2, stride: 2}, activation: softplus]}"},
	"larger image":   {64, "{input: [1, 8, 8], layers: [convolution: {channels: 2, size: 3, stride: 2}, activation: tanh, pooling: {kind: mean, size: 3}]}"},
	"colour":         {12, "{input: [3, 2, 2], layers: [convolution: {channels: 2, size: 2}, activation: tanh, dense: 3]}"},
	"mean pooling":   {12, "{input: [1, 4, 3], layers: [convolution: {channels: 2, size: 2, padding: 1}, activation: tanh, pooling: {kind: mean, size: 2}]}"},
	"max pooling":    {12, "{input: [1, 4, 3], layers: [convolution: {channels: 2, size: 2, padding: 1}, pooling: {kind: max, size: 2, stride: 1}, activation: tanh]}"},
	"whole image":    {12, "{input: [3, 2, 2], layers: [residual: [activation: relu], convolution: {channels: 2, size: 1}, pooling: {kind: mean}]}"},
	"image norm":     {12, "{input: [3, 2, 2], layers: [convolution: {channels: 2, size: 1}, layernorm: true, activation: tanh]}"},
	"image residual": {12, "{input: [3, 2, 2], layers: [residual: [convolution: {channels: 3, size: 1}, layernorm: true, residual: [layernorm: true]]]}"},
	"set":            {12, "{input: [4, 3], layers: [dense: 5, activation: tanh, pooling: {kind: mean}]}"},
	"set of one":     {12, "{input: [1, 12], layers: [dense: 5, layernorm: true, activation: tanh, pooling: {kind: max}]}"},
	"set max":        {12, "{input: [4, 3], layers: [dense: 5, pooling: {kind: max}, activation: tanh]}"},
	"set norm":       {12, "{input: [4, 3], layers: [layernorm: true, dense: 5, activation: tanh]}"},
	"attention":      {12, "{input: [4, 3], layers: [attention: {size: 2}, pooling: {kind: mean}]}"},
	"heads":          {12, "{input: [4, 3], layers: [residual: [layernorm: true, attention: {size: 1, heads: 2}], pooling: {kind: mean}, dense: 3]}"},
	"items of one":   {12, "{input: [12, 1], layers: [attention: {size: 2}, residual: [dense: 1], pooling: {kind: max}]}"},
}

// made is the network of a file.
func made(t testing.TB, text string, d, m int) embedding.Network {
	t.Helper()
	spec := must.Get(layers.Parse([]byte(text)))(t)
	net := must.Get(graphs.NewLayers(spec, d, m))(t, text)
	return net
}

// Every kind of layer passes the gate (differences, and the same bits from another tape), and what it computes for a record does
// not depend on others.
func TestLayersAreFunctionsOfTheirRecord(t *testing.T) {
	for name, c := range files {
		for _, m := range []int{1, 3} {
			if i := dependsOnOthers(t, made(t, c.text, c.d, m), c.d, m, 5); i >= 0 {
				t.Errorf("%s: record %d has other bits among other records", name, i)
			}
		}
	}
}

// A record that is not a number has no term, whatever the layers are, and moves no bit of the records that it is computed with.
func TestRecordsWithoutValuesLeaveOthers(t *testing.T) {
	set := must.Get(kernels.Select(kernels.Generic))(t)
	for name, c := range files {
		net := made(t, c.text, c.d, 1)
		theta, p := net.Start(3), net.NewPass(set)
		p.Set(theta)
		compute := func(v float64) (f, norms, grad []float64) {
			x := make([]float64, 3*c.d)
			for k := range x {
				x[k] = math.Sin(float64(k))
				if k/c.d == 1 && !(v == 0) {
					x[k] = v
				}
			}
			f, norms, grad = make([]float64, 3), make([]float64, 3), make([]float64, len(theta))
			p.Embed(f, norms, x, 3)
			if v == 0 {
				p.Pull(grad, []float64{1, 0, 1}, 3)
				return f, norms, grad
			}
			for _, i := range []int{0, 2} { // as the evaluator pulls runs of records that are usable
				p.Embed(make([]float64, 1), make([]float64, 1), x[i*c.d:], 1)
				p.Pull(grad, []float64{1}, 1)
			}
			return f, norms, grad
		}
		f, norms, grad := compute(0)
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			g, others, pulled := compute(v)
			if g[0] != f[0] || g[2] != f[2] || norms[0] != others[0] || norms[2] != others[2] || !slices.Equal(grad, pulled) {
				t.Errorf("%s: a record of %v moves others", name, v)
			}
			if !math.IsNaN(v) && math.Abs(g[1]) <= math.MaxFloat64 { // tanh of infinity is 1, and its slope 0
				continue
			}
			if others[1] <= math.MaxFloat64 && math.Abs(g[1]) <= math.MaxFloat64 {
				t.Errorf("%s: a record of %v has the value %v and the norm %v", name, v, g[1], others[1])
			}
		}
	}
}

// jacobian is what a network computes for a record.
func jacobian(t testing.TB, net embedding.Network, theta, x []float64) (f, jac []float64, norm float64) {
	t.Helper()
	set := must.Get(kernels.Select(kernels.Generic))(t)
	_, m := net.Dims()
	p, norms := net.NewPass(set), make([]float64, 1)
	f = make([]float64, m)
	p.Set(theta)
	p.Embed(f, norms, x, 1)
	for k := range m {
		v, row := make([]float64, m), make([]float64, len(theta))
		v[k] = 1
		p.Pull(row, v, 1)
		jac = append(jac, row...)
	}
	return f, jac, norms[0]
}

// Values and Jacobians of every kind of layer agree with PyTorch (bench/peers/layers_torch.py), and values with plain
// Go.
func TestLayersAgreeWithTorch(t *testing.T) {
	file := must.Get(os.Open("testdata/layers-torch.json"))(t)
	defer file.Close()
	lines, kinds := bufio.NewScanner(file), map[string]bool{}
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var c struct {
			Spec                  layers.Spec
			X, Theta, F, Jacobian []float64
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &c))
		net := must.Get(graphs.NewLayers(c.Spec, len(c.X), len(c.F)))(t)
		plain := must.Get(c.Spec.Network(len(c.X), len(c.F)))(t)
		for _, s := range plain.Steps() {
			for _, s := range append(s.Inner, s) {
				kinds[s.Kind] = true
			}
		}
		f, jac, norm := jacobian(t, net, c.Theta, c.X)
		again := make([]float64, len(f))
		must.Do(t, (embedding.Model{Network: plain}).Embed(again, c.Theta, c.X, 1))
		var square float64
		for k, want := range c.F {
			if math.Abs(f[k]-want) > 1e-10*(1+math.Abs(want)) || math.Abs(f[k]-again[k]) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s: value %d is %v, of PyTorch %v, of plain Go %v", net.Name(), k, f[k], want, again[k])
			}
		}
		for k, want := range c.Jacobian {
			square += jac[k] * jac[k]
			must.Near(t, jac[k], want, 1e-9*norm, "%s: entry %d of the Jacobian", net.Name(), k)
		}
		if len(c.Jacobian) != len(jac) || !(norm >= math.Sqrt(square)) {
			t.Errorf("%s: %d and %d entries, and the norm %v is not at least %v", net.Name(), len(c.Jacobian), len(jac), norm, math.Sqrt(square))
		}
	}
	if len(kinds) != 9 || lines.Err() != nil {
		t.Errorf("kinds %v, %v", kinds, lines.Err())
	}
}

// summed is the gradient over all pairs, and a bound of its roundings.
func summed(t testing.TB, l embedding.Loss, r *engine.Records, theta []float64) (g []float64, rho float64) {
	t.Helper()
	k := must.Get(embedding.Backend{Workers: 1}.Plan(engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: l, Radius: l.Radius()}))(t)
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	q := engine.Gradient(theta, engine.AllPairs{N: r.Len()})
	g = make([]float64, len(theta))
	must.Do(t, e.Sum(context.Background(), g, q))
	return g, k.Bounds(q).Sum
}

// Replacing the first or the last record moves the sum over all pairs by at most its certificate, for every kind of layer, with
// clipped Jacobians and with clipped pairs, near the start and far from it, and where a network is not finite.
func TestNeighboursOfLayers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	closest, all := 0.0, maps.Clone(files)
	all["not finite"] = all["wide"]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		for range sizes.Of(1, 12) {
			m := 1 + 2*rng.IntN(2)
			net := made(t, c.text, c.d, m)
			if name == "not finite" {
				net = logarithms(t, c.d, m)
			}
			l := embedding.Loss{Model: embedding.Model{Network: net, Output: embedding.Output{Within: 4}}, Clip: []float64{0.01, 1}[rng.IntN(2)]}
			if l.Pair = (embedding.Score{Of: engine.Logistic{}}); m > 1 {
				l.Pair = embedding.Bilinear{Of: engine.Logistic{}}
				l.Model.Output = embedding.Output{Unit: true}
			}
			if rng.IntN(3) == 0 {
				l.PairClip = l.Clip
			}
			theta := l.Domain(c.d, l.Radius()).Start()
			if rng.IntN(2) == 0 {
				for k := range theta {
					theta[k] *= 1 + rng.NormFloat64()
				}
				l.Model.Project(theta)
			}
			n := 2 + rng.IntN(4)
			at := []int{0, n - 1}[rng.IntN(2)]
			x, y := make([]float64, n*c.d), make([]float64, n)
			for i := range n {
				row := x[i*c.d:][:c.d]
				for k := range row {
					row[k] = rng.NormFloat64()
				}
				engine.ProjectBall(row, 1)
				y[i] = float64(2*(i%2) - 1)
			}
			if name == "not finite" {
				clear(x[at*c.d:][:c.d])
				x[at*c.d+rng.IntN(c.d)] = -1
			}
			data := records(t, x, y, c.d)
			for k := range c.d {
				x[at*c.d+k] *= -1
			}
			if y[at] *= -1; rng.IntN(2) == 0 {
				y[at] *= -1
			}
			one, rho := summed(t, l, data, theta)
			two, _ := summed(t, l, records(t, x, y, c.d), theta)
			constants := must.Get(l.Constants(data.Bounds(), l.Radius()))(t)
			var square float64
			for k := range one {
				square += (one[k] - two[k]) * (one[k] - two[k])
			}
			ratio := math.Sqrt(square) / (2*float64(n-1)*constants.PairDiameter + 2*rho)
			if !(ratio <= 1) {
				t.Errorf("%s, m %d, clip %g, pairs %g, %d records: a neighbour moves the sum by %g of its certificate", name, m, l.Clip, l.PairClip, n, ratio)
			}
			closest = max(closest, ratio)
		}
	}
	t.Logf("closest %g", closest)
	if closest < 0.3 {
		t.Errorf("the search comes to %g of the certificate: it shows little", closest)
	}
}

// logarithms is a network whose values are not numbers for a record with a feature of -1.
func logarithms(t testing.TB, d, m int) embedding.Network {
	t.Helper()
	net := must.Get(graphs.NewNetwork(graphs.Network{
		Name: "logarithms", In: d, Out: m, Layers: []embedding.Layer{{Name: "only", Rows: m, Cols: d, Radius: 10}},
		Build: func(_ *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.Mul(theta[0], gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.Add(x, gorgonia.NewConstant(0.99))))))
		},
	}))(t)
	if f, _, _ := jacobian(t, net, net.Start(1), append([]float64{-1}, make([]float64, d-1)...)); f[0] == f[0] {
		t.Fatalf("the network has the value %v where it has none", f[0])
	}
	return net
}

// records are rows of d features and labels, of which it keeps copies.
func records(t testing.TB, x, y []float64, d int) *engine.Records {
	t.Helper()
	return must.Get(engine.AdoptRecords(slices.Clone(x), slices.Clone(y), d, engine.UnitBounds()))(t)
}

// The same perceptron has the same gradients through Gorgonia and built in, with clipped Jacobians.
func TestDenseLayersHaveGradientsOfAnMLP(t *testing.T) {
	const d, n = 6, 70
	r := attack.RandomRecords(n, d, engine.UnitBounds(), 3)
	for _, m := range []int{1, 3} {
		for _, activation := range []embedding.Activation{embedding.Tanh, embedding.Softplus} {
			mlp := embedding.MLP{In: d, Hidden: []int{8, 5}, Out: m, Activation: activation}
			mlp.Radii = mlp.RadiiFor(2)
			a := activation.String()
			net := made(t, "{layers: [dense: 8, activation: "+a+", dense: 5, activation: "+a+"]}", d, m)
			theta := net.Start(1)
			loss := embedding.Loss{Model: embedding.Model{Network: net, Output: embedding.Output{Within: 3}}, Pair: embedding.Score{Of: engine.Logistic{}}, Clip: 0.7}
			if m > 1 {
				loss.Model.Output, loss.Pair = embedding.Output{Unit: true}, embedding.Bilinear{Of: engine.Logistic{}}
			}
			got, _ := summed(t, loss, r, theta)
			loss.Model.Network = mlp
			want, _ := summed(t, loss, r, theta)
			if off := farthest(got, want); !(off <= 1e-6) {
				t.Fatalf("m %d, %v, %.2g off: %v through Gorgonia, %v built in", m, activation, off, got, want)
			}
		}
	}
}

// Whatever layers fit together pass the gate: random ones, down to images of one pixel and sets of one item.
func TestRandomLayersPassTheGate(t *testing.T) {
	rng, passed := rand.New(rand.NewPCG(5, 5)), 0
	number := func(most int) int { return 1 + rng.IntN(most) }
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	for passed < sizes.Of(25, 500) {
		shape := [][]int{{number(12)}, {number(4), number(4)}, {number(3), number(6), number(6)}}[rng.IntN(3)]
		text := ""
		for range number(4) {
			text += pick(
				fmt.Sprintf("dense: %d", number(4)), "activation: "+pick("tanh", "softplus", "relu", "silu"), "layernorm: true",
				"residual: ["+pick("layernorm: true", "activation: tanh", "attention: {size: 1}")+"]", fmt.Sprintf("attention: {size: %d, heads: %d}", number(3), number(2)),
				fmt.Sprintf("pooling: {kind: %s%s}", pick("mean", "max"), pick("", ", size: 1", ", size: 2", ", size: 2, stride: 1")),
				fmt.Sprintf("convolution: {channels: %d, size: %d, stride: %d, padding: %d}", number(3), number(3), number(2), rng.IntN(2)),
				fmt.Sprintf("embedding: [{columns: [%d, %d], size: %d}]", 1, number(3), number(3)),
			) + ", "
		}
		spec := must.Get(layers.Parse(fmt.Appendf(nil, "{layers: [%sactivation: tanh]}", text)))(t)
		spec.Input = shape
		m, d := number(3), layers.Size(shape)
		if _, err := spec.Network(d, m); err != nil {
			continue // they do not fit together
		}
		must.Check(graphs.NewLayers(spec, d, m))(t, fmt.Sprintf("%v %s", shape, text))
		passed++
	}
}
