package dataset

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/metrics"
	"dyad/internal/must"
)

func TestSplit(t *testing.T) {
	train, test, err := Split(10, 0.7, 1)
	if err != nil || len(train) != 7 || len(test) != 3 {
		t.Fatalf("got %v %v %v", train, test, err)
	}
	all := append(slices.Clone(train), test...)
	slices.Sort(all)
	for i, v := range all {
		must.Equal(t, v, i, "parts %v %v do not cover 0..9 once", train, test)
	}
	if !slices.IsSorted(train) || !slices.IsSorted(test) {
		t.Error("parts are not in order")
	}
	again, _, _ := Split(10, 0.7, 1)
	must.Same(t, train, again, "the same seed gave another split")
	// Fixed for ever: results name a split by its seed.
	must.Same(t, train, []int{0, 1, 2, 3, 5, 6, 8}, "train")
	for _, c := range []struct {
		n        int
		fraction float64
	}{{1, 0.5}, {10, 0}, {10, 1}, {10, -1}, {10, math.NaN()}, {10, 0.01}, {10, 0.99}, {2, 0.9}} {
		if _, _, err := Split(c.n, c.fraction, 1); err == nil {
			t.Errorf("Split(%d, %v) was accepted", c.n, c.fraction)
		}
	}
}

// Every record is equally likely in the training part: over m seeds each count
// is within t m of m/2 with probability at least 1 - 2 exp(-2 m t^2), for all 20
// records 1 - 1e-9. The control, the first half always, must be rejected.
func TestSplitIsUniform(t *testing.T) {
	const n, m = 20, 3000
	limit := m * math.Sqrt(math.Log(2*n*1e9)/(2*m))
	count := make([]int, n)
	for seed := range uint64(m) {
		train, _ := must.Get2(Split(n, 0.5, seed))(t)
		for _, i := range train {
			count[i]++
		}
	}
	for i, k := range count {
		must.Near(t, float64(k), m/2, limit, "training parts of %d with record %d", m, i)
	}
	if m/2 <= limit {
		t.Error("the control, a record in every training part, would pass")
	}
}

func TestSyntheticClinical(t *testing.T) {
	const n = 3000
	d := must.Get(SyntheticClinical(n, 7))(t)
	if s := d.Schema(); s.DataID != "synthetic-clinical" || !s.Public || s.BoundsFromData {
		t.Errorf("schema %+v", s)
	}
	if d.Records.Len() != n || d.Records.Dim() != 12 || d.Positives < n/10 || d.Positives > n/2 {
		t.Errorf("n %d, d %d, %d positive", d.Records.Len(), d.Records.Dim(), d.Positives)
	}
	checkNorms(t, d.Records)
	var file bytes.Buffer
	must.Do(t, WriteSyntheticClinical(&file, n, 7))
	s := must.Get(SyntheticClinicalSchema())(t)
	same := must.Get(LoadReader("file", &file, s, Options{}))(t)
	sameRecords(t, same.Records, d.Records, "the file")
	if other := must.Get(SyntheticClinical(n, 8))(t); slices.Equal(other.Records.Dense(), d.Records.Dense()) {
		t.Error("another seed gave the same records")
	}
	for _, bad := range []int{-1, 0, 1} {
		must.Err(SyntheticClinical(bad, 1))(t, "%d records were accepted", bad)
	}
	broken := errors.New("broken disk")
	must.FailDo(t, WriteSyntheticClinical(errWriter{broken}, 10, 1), broken)
}

type errWriter struct{ err error }

func (w errWriter) Write([]byte) (int, error) { return 0, w.err }

// The generator's own score has the AUC that its documentation states, and its
// ranges hold nearly all values: clamping is rare.
func TestClinicalRealism(t *testing.T) {
	const n = 20000
	c := newCoins(1, clinicalStream)
	scores, labels, positive := make([]float64, n), make([]float64, n), 0.0
	var line []byte
	for i := range scores {
		if line, scores[i] = clinicalRow(line[:0], c); line[len(line)-1] == '1' {
			labels[i] = 1
			positive++
		}
	}
	must.Within(t, must.Get(metrics.AUC(scores, labels))(t), 0.78, 0.82, "AUC")
	must.Within(t, positive/n, 0.15, 0.35, "rate")
}

func TestSyntheticScores(t *testing.T) {
	r := must.Get(SyntheticScores(5000, 9, 3))(t)
	if r.Len() != 5000 || r.Dim() != 9 || r.Bounds() != engine.UnitBounds() || r.Label(0) != 1 || r.Label(1) != -1 {
		t.Errorf("n %d, d %d, bounds %v", r.Len(), r.Dim(), r.Bounds())
	}
	checkNorms(t, r)
	sameRecords(t, must.Get(SyntheticScores(5000, 9, 3))(t), r, "the same seed")
	for _, c := range [][2]int{{1, 5}, {5, 0}, {-1, 5}, {math.MaxInt / 8, 100}} {
		must.Err(SyntheticScores(c[0], c[1], 1))(t, "%v was accepted", c)
	}
}
