package gorgonia

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"dyad/engine/embedding"
	"dyad/engine/layers"
	"dyad/internal/must"
)

// failing is a machine that fails if the batch has a record that is not a number, as an operation might.
type failing struct {
	gorgonia.VM
	x []float64
}

func (f failing) RunAll() error {
	if slices.ContainsFunc(f.x, math.IsNaN) {
		return errors.New("not a number")
	}
	return f.VM.RunAll()
}

// A record for which the graph fails has no value; the others of its batch have the bits that they have without it.
func TestRecordsThatFailDoNotTakeTheirBatchAlong(t *testing.T) {
	spec := must.Get(layers.Parse([]byte("layers: [dense: 3, activation: tanh]")))(t)
	net := must.Get(spec.Network(2, 1))(t)
	made := must.Get(layersGraph{Network: net, counts: rowsOf(net.Steps()), batch: 4}.NewTape())(t)
	tape := made.(*layersTape)
	must.Do(t, tape.Set(net.Start(1)))
	values := func(x []float64) (all [][]float64) {
		tape.Block(x, 3)
		for i := range 3 {
			g, jac := make([]float64, 1), make([]float64, 12)
			if tape.Row(g, jac, i) == nil {
				all = append(all, append(g, jac...))
			} else {
				all = append(all, nil)
			}
		}
		return all
	}
	want := values([]float64{1, 2, 3, 4, 5, 6})
	tape.machine = failing{tape.machine, tape.x}
	for lost := range 3 {
		x := []float64{1, 2, 3, 4, 5, 6}
		x[2*lost] = math.NaN()
		for i, row := range values(x) {
			if i == lost && row != nil || i != lost && !slices.Equal(row, want[i]) {
				t.Errorf("record %d failed: record %d has %v", lost, i, row)
			}
		}
	}
}

// A device that computes dense layers sees those of a file through its graph, and none where another layer is among them.
func TestLayersThatAreDense(t *testing.T) {
	for text, want := range map[string][]string{
		"layers: [dense: 4, activation: relu, dense: 3]":   {"relu", ""},
		"layers: [dense: 4, layernorm: true, dense: 3]":    nil,
		"layers: [residual: [dense: 6, activation: tanh]]": nil,
	} {
		spec := must.Get(layers.Parse([]byte(text)))(t)
		net := must.Get(NewLayers(spec, 6, 2))(t)
		if got, ok := net.(embedding.Dense).Activations(); ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
}
