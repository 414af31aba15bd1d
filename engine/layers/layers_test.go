package layers_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"dyad/engine/embedding"
	"dyad/engine/layers"
	"dyad/internal/must"
	"dyad/kernels"
)

func parsed(t testing.TB, text string) layers.Spec {
	t.Helper()
	return must.Get(layers.Parse([]byte(text)))(t)
}

// A file that cannot be used is refused where it is wrong, with what is right.
func TestWrongFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "empty",
		"layers:\n  - dence: 3\n": "layers: line 2, position 5: unknown field \"dence\"; did you mean dense?",
		"layers: 5": "layers: line 1, position 9: layers: want a list, not a whole number; want a " +
			"list such as",
		"layers: [dence: 3]":                      "did you mean dense?",
		"layers: [convolution: {chanels: 3}":      "",
		"layers: [convolution: {chanels: 3}]":     "did you mean channels?",
		"layers: []":                              "needs layers and an input",
		"input: [1, 2, 3, 2]\nlayers: [dense: 3]": "at most 3 dimensions",
		"input: [0]\nlayers: [dense: 3]":          "dimension of 0",
		"gain: -1\nlayers: [dense: 3]":            "the gain is -1",
		"input: [2, 3]\nlayers: [dense: 3]": "takes 6 features, but the " +
			"records have 12",
		"layers: [dense: -3]": "layer 1 (dense)",
		"layers: [activation: tanh, {dense: 3, activation: tanh}]":        "layer 2 (unclear) of an input of shape [12]",
		"layers: [activation: tan]":                                       "\"tan\" is unknown",
		"layers: [convolution: {channels: 2, size: 3}]":                   "needs an input [channels, height, width]",
		"input: [1, 4, 3]\nlayers: [convolution: {channels: 2, size: 5}]": "larger than the image",
		"input: [1, 4, 3]\nlayers: [pooling: {kind: mean}]":               "needs a square image",
		"input: [1, 4, 3]\nlayers: [pooling: {kind: median, size: 2}]":    "want mean or max",
		"layers: [embedding: [{columns: [2, 14], size: 2}]]":              "without overlap",
		"layers: [dense: 4, residual: [activation: tanh, dense: 5]]": "layer 2 (residual) of an " +
			"input of shape [4]: the inner layers change the shape of their input to [5]",
		"layers: [dense: 4, residual: [dense: 4, pooling: {}]]":                               "layer 2.2 (pooling)",
		"layers: [attention: {size: 2}]":                                                      "at least 2 items",
		"layers: [dense: 1, layernorm: true]":                                                 "mean of one number",
		"layers: [" + strings.Repeat("dense: 1, ", 200) + "dense: 1]":                         "more than 100 layers",
		"layers: " + strings.Repeat("[residual: ", 9) + "[dense: 1]" + strings.Repeat("]", 9): "layers",
		"layers: [dense: 65536, dense: 65536]":                                                "parameters",
	} {
		s, err := layers.Parse([]byte(text))
		if err == nil {
			_, err = s.Network(12, 1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// Values of a few layers, by hand.
func TestValuesByHand(t *testing.T) {
	for _, c := range []struct {
		text           string
		theta, x, want []float64
	}{
		{"layers: [dense: 2, activation: relu]", []float64{1, 2, 3, -1, 0, 0, 10, 100}, []float64{4, 5}, []float64{170}},
		{"input: [1, 2, 2]\nlayers: [convolution: {channels: 1, size: 1}, pooling: {kind: max}]", []float64{2, 1, 3},
			[]float64{1, 5, 2, 4}, []float64{33}},
		{"input: [1, 2, 2]\nlayers: [convolution: {channels: 1, size: 2, padding: 1, stride: 2}]",
			[]float64{1, 10, 100, 1000, 0, 1, 1, 1, 1}, []float64{1, 5, 2, 4}, []float64{1*1000 + 5*100 + 2*10 + 4}},
		{"input: [2, 2]\nlayers: [pooling: {kind: mean}]", []float64{1, 10}, []float64{1, 5, 3, 9}, []float64{72}},
		{"layers: [embedding: [{columns: [2, 3], size: 1}]]\ngain: 0.5", []float64{7, 8, 1, 10, 100}, []float64{2, 0, 1, 4},
			[]float64{2 + 80 + 400}},
		{"layers: [residual: [activation: relu]]", []float64{1, 10}, []float64{2, -1}, []float64{4 - 10}},
		{"input: [2, 1]\nlayers: [attention: {size: 1}]", []float64{0, 0, 0, 0, 1, 0, 2, 1, 10}, []float64{1, 3},
			[]float64{44}},
		{"layers: [layernorm: true]", []float64{1, 2, 3, 4, 1, 10}, []float64{-7, 7},
			[]float64{3 - 1/math.Sqrt(1+layers.Epsilon/49) + 10*(4+2/math.Sqrt(1+layers.Epsilon/49))}},
	} {
		net := must.Get(parsed(t, c.text).Network(len(c.x), len(c.want)))(t)
		if n := embedding.Parameters(net); n != len(c.theta) {
			t.Fatalf("%s: %d parameters, want %d", c.text, n, len(c.theta))
		}
		got := make([]float64, len(c.want))
		must.Do(t, (embedding.Model{Network: net}).Embed(got, c.theta, c.x, 1))
		for k := range got {
			if math.Abs(got[k]-c.want[k]) > 1e-12*(1+math.Abs(c.want[k])) {
				t.Errorf("%s: %v, want %v", c.text, got, c.want)
			}
		}
	}
}

// A network of dense layers starts with the bits of an MLP, has its balls and computes its values.
func TestDenseLayersAreAnMLP(t *testing.T) {
	for _, activation := range []embedding.Activation{embedding.Tanh, embedding.Softplus} {
		mlp := embedding.MLP{In: 5, Hidden: []int{7, 4}, Out: 3, Activation: activation}
		mlp.Radii = mlp.RadiiFor(3)
		text := "{gain: 3, layers: [dense: 7, activation: A, dense: 4, activation: A]}"
		net := must.Get(parsed(t, strings.ReplaceAll(text, "A", activation.String())).Network(5, 3))(t)
		theta := net.Start(4)
		must.Same(t, theta, mlp.StartWith(3, 4), "another start")
		for i, l := range net.Layers() {
			own := mlp.Layers()[i]
			if l.Name = own.Name; l != own {
				t.Errorf("layer %d: %+v, of the MLP %+v", i, l, own)
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, 200*5)
		for k := range x {
			x[k] = r.NormFloat64()
		}
		var values [2][]float64
		for i, of := range []embedding.Network{net, mlp} {
			values[i] = make([]float64, 600)
			must.Do(t, (embedding.Model{Network: of, Output: embedding.Output{Unit: true}}).Embed(values[i], theta, x, 200))
		}
		got, want := values[0], values[1]
		for k := range got {
			if math.Abs(got[k]-want[k]) > 1e-12 {
				t.Fatalf("%v: number %d is %v, of the MLP %v", activation, k, got[k], want[k])
			}
		}
	}
}

// A model file holds the description itself: it is the same after JSON, and what is changed has another digest.
func TestSpecSurvivesJSON(t *testing.T) {
	s := parsed(t, "{input: [3, 4], layers: [residual: [attention: {size: 2}, layernorm: true], pooling: {kind: "+
		"max}, dense: 2]}")
	text := must.Get(json.Marshal(s))(t)
	var again layers.Spec
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(s, again) || s.Digest() != again.Digest() {
		t.Errorf("%s: %+v, %v", text, again, err)
	}
	again.Layers[2].Dense = 3
	if s.Digest() == again.Digest() || len(s.Digest()) != 16 {
		t.Errorf("digests %s and %s", s.Digest(), again.Digest())
	}
}

// Networks in plain Go have no gradients: a program that trains one stops.
func TestPlainNetworksDoNotTrain(t *testing.T) {
	net := must.Get(parsed(t, "layers: [dense: 2]").Network(3, 1))(t)
	set := must.Get(kernels.Select(kernels.Generic))(t)
	defer func() {
		if recover() == nil {
			t.Error("Pull computed something")
		}
	}()
	net.NewPass(set).Pull(make([]float64, 10), []float64{1}, 1)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"layers: [dense: 3, activation: tanh]",
		"input: [1, 4, 3]\nlayers:\n  - convolution: {channels: 2, size: 2}\n  - pooling: {kind: mean, size: 2}\n", "{layers: [residual: [dense: 12]]}", "layers: [embedding: [{columns: [1, 2], size: 3}]]", "input: [4, 3]\nlayers: [attention: {size: 2, heads: 2}, layernorm: true]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := layers.Parse([]byte(text))
		if err != nil {
			return
		}
		net, err := s.Network(12, 2)
		if err != nil || embedding.Parameters(net) > 1<<16 {
			return
		}
		for _, step := range net.Steps() {
			if layers.Size(step.In)+layers.Size(step.Out) > 1<<12 {
				return
			}
		}
		y := make([]float64, 2)
		if err := (embedding.Model{Network: net}).Embed(y, net.Start(1), make([]float64, 12), 1); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// A perceptron under a name of one's own has projected scores, as a model file with that name states them.
func TestOwnNetworksAreProjected(t *testing.T) {
	own := layers.Own{Kind: "waves", In: 3, Out: 1, Build: func() (embedding.Network, error) {
		return embedding.NewMLPWith(3, []int{2}, 1, "tanh", 2)
	}}
	net := must.Get(own.Network())(t)
	read := must.Get(layers.Own{Kind: "waves", In: 3, Out: 1, Parts: net.Layers()}.Network())(t)
	if trains, reads := embedding.OutputOf(net, ""), embedding.OutputOf(read, ""); trains != reads || trains.Within == 0 {
		t.Errorf("it trains with outputs %+v, and is read with %+v", trains, reads)
	}
}
