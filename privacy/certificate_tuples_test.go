package privacy_test

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

// Wherever the tuple of an individual is in each epoch, all releases together move by no
// more than the certificates, and by as much; an individual in two tuples of an epoch
// moves them by more.
func TestTupleBatchesCoverEveryPlacement(t *testing.T) {
	for _, b := range []privacy.TupleBatches{
		{Batch: 5, Batches: 3, Epochs: 1}, {Batch: 40, Batches: 1, Epochs: 10, Roundoff: 1e-3}, {Batch: 1, Batches: 2, Epochs: 3, Roundoff: 0.2},
	} {
		c := must.Get(b.Certify())(t)
		p := must.Get(b.CertifyPure())(t)
		// moved is the root of squares and the sum of the moves of all releases, for an
		// individual in so many tuples of every epoch, all in different batches or all in
		// one: opposite terms of norm 1 are 2 apart.
		moved := func(tuples int, together bool) (root, sum float64) {
			squares := 0.0
			for range b.Epochs {
				parts := tuples
				if together {
					parts = 1
				}
				for range parts {
					m := 2*float64(tuples)/float64(parts)/float64(b.Batch) + 2*b.Roundoff
					squares, sum = squares+m*m, sum+m
				}
			}
			return math.Sqrt(squares), sum
		}
		root, sum := moved(1, false)
		must.Within(t, c.Sensitivity(), root, root*(1+math.Sqrt(float64(b.Epochs))*b.Roundoff*float64(b.Batch)+1e-12),
			"%+v", b)
		must.Within(t, p.Sensitivity(), sum, sum*(1+1e-12), "%+v: pure", b)
		for _, together := range []bool{false, true} {
			if root, sum := moved(2, together); !(root > c.Sensitivity() && sum > p.Sensitivity()) {
				t.Errorf("%+v: two tuples of an individual in an epoch are not seen: %v and %v", b, root, sum)
			}
		}
		if c.Releases() != b.Batches*b.Epochs || !strings.Contains(c.Derivation(), "tuple") || strings.Contains(c.Derivation(), "pair") || !strings.Contains(p.Released(), "tuple") {
			t.Errorf("%+v: %d releases of %s, %s", b, c.Releases(), c.Released(), c.Derivation())
		}
	}
	for _, b := range []privacy.TupleBatches{{}, {Batch: 1, Batches: 1}, {Batch: 1, Epochs: 1}, {Batch: 1, Batches: 1, Epochs: 1, Roundoff: math.NaN()}} {
		if c, err := b.Certify(); err == nil || !c.IsZero() {
			t.Errorf("%+v was certified, or left a certificate beside its error", b)
		}
		if c, err := b.CertifyPure(); err == nil || !c.IsZero() {
			t.Errorf("%+v was certified, or left a certificate beside its error", b)
		}
	}
}
