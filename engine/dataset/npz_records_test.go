package dataset_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/internal/must"
)

// What is written is read again to the bit.
func TestWriteNPZ(t *testing.T) {
	r := must.Get(dataset.SyntheticScores(7, 3, 1))(t)
	s := must.Get(dataset.ParseSchema([]byte("data_id: x\nformat: npz\nfeatures: 3\nrange: [-1.7320508075688772, 1.7320508075688772]\ncolumns: [{name: y, role: label, positive: \"1\", negative: \"-1\"}]\n")))(t)
	for _, labels := range []bool{true, false} {
		var b bytes.Buffer
		must.Do(t, dataset.WriteNPZ(&b, r, labels))
		d := must.Get(dataset.LoadReader("x.npz", bytes.NewReader(b.Bytes()), s, dataset.Options{Labels: dataset.LabelsOptional}))(t)
		if d.HasLabels != labels || labels && !slices.Equal(d.Records.Labels(), r.Labels()) {
			t.Errorf("labels %v: %v", labels, d.Records.Labels())
		}
		// The range maps the square to [-1, 1], and d features share the factor sqrt(3/d) = 1.
		for i, v := range d.Records.Dense() {
			must.Near(t, v*math.Sqrt(3), r.Dense()[i], 1e-15, "%d", i)
		}
	}
}

// Neighbouring features have correlation 0.9, and the alternating sum ranks as well as a
// logistic score of standard deviation 2 can.
func TestSyntheticAR1(t *testing.T) {
	const n, d = 20000, 6
	r := must.Get(dataset.SyntheticAR1(n, d, 3))(t)
	var xx, xy, ss float64
	a := math.Sqrt(3.0/d) / 4
	x := make([]float64, d)
	var scores, labels []float64
	for i := range n {
		r.Row(i, x)
		norm, s := 0.0, 0.0
		for k, v := range x {
			norm += v * v
			s += v / a * (1 - 2*float64(k%2))
		}
		if norm > 0.99 { // projected
			continue
		}
		xx, xy, ss = xx+x[0]*x[0]+x[1]*x[1], xy+2*x[0]*x[1], ss+s*s
		scores, labels = append(scores, s), append(labels, r.Label(i))
	}
	must.Near(t, xy/xx, 0.9, 0.02, "correlation")
	must.Near(t, must.Get(metrics.AUC(scores, labels))(t), 0.86, 0.01, "AUC of the alternating sum")
	must.Err(dataset.SyntheticAR1(1, 1, 1))(t, "one record")
}
