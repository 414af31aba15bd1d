package cuda

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/layers"
	"dyad/internal/must"
)

// chain is a network of a file as a graph, whose Jacobians are those of dense layers by the chain rule, in plain Go.
type chain struct{ *layers.Network }

// NewTape implements embedding.Graph.
func (c chain) NewTape() (embedding.Tape, error) { return &chainTape{chain: c}, nil }

type chainTape struct {
	chain
	theta []float64
}

// Set implements embedding.Tape.
func (c *chainTape) Set(theta []float64) error {
	c.theta = theta
	return nil
}

// activated is an activation and its derivative.
func activated(name string, z float64) (h, slope float64) {
	sigma := 1 / (1 + math.Exp(-z))
	switch name {
	case "tanh":
		h = math.Tanh(z)
		return h, 1 - h*h
	case "softplus":
		return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))), sigma
	case "relu":
		if z > 0 {
			return z, 1
		}
		return 0, 0
	case "silu":
		return z * sigma, sigma * (1 + z*(1-sigma))
	}
	return z, 1
}

// Jacobian implements embedding.Tape.
func (c *chainTape) Jacobian(g, jac, x []float64) error {
	names, ok := c.Activations()
	if !ok {
		return errors.New("not a chain")
	}
	parts, theta := c.Layers(), c.theta
	var weights, inputs, slopes [][]float64
	for l, part := range parts {
		in := slices.Clone(x)
		if part.Bias {
			in = append(in, 1)
		}
		weights, inputs, x = append(weights, theta[:part.Len()]), append(inputs, in), make([]float64, part.Rows)
		slope := make([]float64, part.Rows)
		for k := range x {
			for j, v := range in {
				x[k] += theta[k*part.Cols+j] * v
			}
			if slope[k] = 1; l < len(names) {
				x[k], slope[k] = activated(names[l], x[k])
			}
		}
		theta, slopes = theta[part.Len():], append(slopes, slope)
	}
	copy(g, x)
	size := len(c.theta)
	for r := range g {
		delta, end := make([]float64, len(g)), (r+1)*size
		delta[r] = 1
		for l := len(parts) - 1; l >= 0; l-- {
			part := parts[l]
			next := make([]float64, part.Cols)
			for k, d := range delta {
				d *= slopes[l][k]
				for j, v := range inputs[l] {
					jac[end-part.Len()+k*part.Cols+j] = d * v
					next[j] += d * weights[l][k*part.Cols+j]
				}
			}
			if end -= part.Len(); l > 0 {
				delta = next[:parts[l-1].Rows]
			}
		}
	}
	return nil
}

// fileNetwork is a network of a file for d features and m numbers.
func fileNetwork(t testing.TB, text string, d, m int) *layers.Network {
	t.Helper()
	spec := must.Get(layers.Parse([]byte(text)))(t)
	return must.Get(spec.Network(d, m))(t)
}

// TestDenseFilesAreMLPs: on a GPU, a file of dense layers has the embeddings, norms and sums of the MLP with these layers, bit for bit.
func TestDenseFilesAreMLPs(t *testing.T) {
	const d, m = 5, 2
	mlp := embedding.MLP{In: d, Hidden: []int{7, 4}, Out: m, Activation: embedding.Softplus}
	mlp.Radii = mlp.RadiiFor(3)
	file := fileNetwork(t, "{gain: 3, layers: [dense: 7, activation: softplus, dense: 4, activation: softplus]}", d, m)
	rng := rand.New(rand.NewPCG(4, 4))
	r := networkRecords(t, rng, 30, d, 0)
	b := openFake(t, newFake())
	theta := mlp.StartWith(3, 4)
	if !slices.Equal(theta, file.Start(4)) {
		t.Fatal("another start")
	}
	if got, want := jacobian(t, b, embedding.NewGraph(chain{file}), r, 3, theta), jacobian(t, b, mlp, r, 3, theta); !slices.Equal(got, want) {
		t.Errorf("a record has %v, with the MLP %v", got[:m+1], want[:m+1])
	}
}

// TestOtherFilesAreRefused: layers that are not dense ones in a row are refused by a GPU, and a network of one's own, with the CPU as the
// way out; numbers that float32 does not hold are, too.
func TestOtherFilesAreRefused(t *testing.T) {
	b := openFake(t, newFake())
	for text, refused := range map[string]bool{
		"layers: [dense: 4, activation: relu, dense: 3, activation: silu, dense: 2]":          false,
		"{input: [1, 3, 4], layers: [dense: 4]}":                                              false,
		"layers: [activation: tanh, dense: 4]":                                                true,
		"layers: [dense: 4, activation: tanh, activation: tanh]":                              true,
		"layers: [dense: 4, layernorm: true]":                                                 true,
		"layers: [residual: [dense: 12]]":                                                     true,
		"{input: [3, 4], layers: [dense: 4]}":                                                 true,
		"{input: [1, 3, 4], layers: [convolution: {channels: 2, size: 2}, dense: 3]}":         true,
		"layers: [embedding: [{columns: [2, 3], size: 1}], dense: 3]":                         true,
		"{gain: 1.0e+25, layers: [dense: 4, activation: relu, dense: 4]}":                     false,
		"{gain: 1.0e+25, layers: [" + strings.Repeat("dense: 4, ", 8) + "dense: 4]}":          true,
		"layers: [" + strings.Repeat("dense: 4, activation: silu, ", 9) + "activation: tanh]": true,
	} {
		_, err := b.PlanRows(embedding.RowsProblem{Network: embedding.NewGraph(chain{fileNetwork(t, text, 12, 2)}), Norm: 1, Rows: 9, Most: 1e6})
		if refused != errors.Is(err, engine.ErrUnsupported) || refused && !strings.Contains(err.Error(), "--device cpu") || !refused && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
