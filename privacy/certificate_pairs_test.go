package privacy_test

import (
	"math"
	"path/filepath"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// worstSums distributes group changed pairs over batches in every way and returns the
// largest sum and sum of squares of the sensitivities of one epoch.
func worstSums(g privacy.PairGroup) (sum, squares float64) {
	var place func(batch, left int, s, s2 float64)
	place = func(batch, left int, s, s2 float64) {
		sum, squares = max(sum, s), max(squares, s2)
		if batch == g.Batches {
			return
		}
		for k := 0; k <= min(left, g.Batch); k++ {
			move := 0.0
			if k > 0 {
				move = 2*float64(k)/float64(g.Batch) + 2*g.Roundoff
			}
			place(batch+1, left-k, s+move, s2+move*move)
		}
	}
	place(0, g.Group, 0, 0)
	return sum, squares
}

func TestPairGroupCoversEveryPlacement(t *testing.T) {
	tight := 0
	for _, g := range []privacy.PairGroup{
		{Group: 1, Batch: 5, Batches: 3, Epochs: 1}, {Group: 3, Batch: 5, Batches: 4, Epochs: 2, Roundoff: 0.01},
		{Group: 4, Batch: 2, Batches: 3, Epochs: 3, Roundoff: 0.2}, {Group: 6, Batch: 50, Batches: 2, Epochs: 10, Roundoff: 1e-3}, {Group: 2, Batch: 9, Batches: 1, Epochs: 7},
	} {
		c := must.Get(g.Certify())(t)
		p := must.Get(g.CertifyPure())(t)
		sum, squares := worstSums(g)
		root, all := math.Sqrt(float64(g.Epochs)*squares), float64(g.Epochs)*sum
		if c.Sensitivity() < root || p.Sensitivity() < all {
			t.Errorf("%+v: certificates %v and %v, some placement reaches %v and %v", g, c.Sensitivity(), p.Sensitivity(), root, all)
		}
		if g.Group <= g.Batch && p.Sensitivity() > all*(1+1e-12) {
			t.Errorf("%+v: the pure certificate %v is not attained, %v", g, p.Sensitivity(), all)
		}
		if g.Roundoff == 0 && c.Sensitivity() < root*(1+1e-12) {
			tight++
		}
		if c.Releases() != g.Batches*g.Epochs || p.Releases() != c.Releases() {
			t.Errorf("%+v: %d releases", g, c.Releases())
		}
		// Known defect: an epoch of several batches counted as one of min(kappa, |B|) pairs.
		if g.Group > g.Batch && 2*float64(min(g.Group, g.Batch))/float64(g.Batch) >= sum {
			t.Errorf("%+v: capping kappa by the batch would do; the test does not see the defect", g)
		}
	}
	must.AtLeast(t, tight, 2, "only %d certificates are attained", tight)
	for _, g := range []privacy.PairGroup{
		{}, {Group: 1, Batch: 1, Batches: 1}, {Group: -1, Batch: 1, Batches: 1, Epochs: 1}, {Group: 1, Batch: 1, Batches: 1, Epochs: 1, Roundoff: math.NaN()},
		{Group: 1, Batch: 1, Batches: 1 << 20, Epochs: 1 << 20},
	} {
		must.Err(g.Certify())(t, "%+v was certified", g)
		if c, err := g.CertifyPure(); err == nil || !c.IsZero() {
			t.Errorf("%+v was certified, or left a certificate beside its error", g)
		}
	}
}

func TestPureStreams(t *testing.T) {
	g := privacy.PairGroup{Group: 2, Batch: 50, Batches: 4, Epochs: 5, Manhattan: true}
	l1 := must.Get(g.CertifyPure())(t)
	g.Manhattan = false
	l2 := must.Get(g.CertifyPure())(t)
	const d = 33
	for _, m := range []struct {
		c    privacy.Certificate
		kind privacy.PureNoise
	}{{l1, privacy.LaplaceNoise}, {l2, privacy.KNormNoise}, {l2, privacy.LaplaceNoise}} {
		noise := must.Get(privacy.CalibratePure(m.c, 0.8, d, m.kind))(t)
		e := noise.Event(m.c)
		stream, ok := e.(account.PureStreamEvent)
		if !ok || stream.Count != 20 {
			t.Fatalf("%v: event %v, want a stream of 20", noise, e)
		}
		var a account.GDP
		if err := a.Compose(e); err != nil || !(a.Epsilon(0) <= 0.8) || a.Epsilon(0) < 0.8*(1-1e-9) {
			t.Errorf("%v: epsilon %v, %v, want 0.8", noise, a.Epsilon(0), err)
		}
		session := newSession(t, e)
		x := make([]float64, d)
		for i := range 20 {
			must.Do(t, session.Release(x, m.c, noise), "release ", i)
		}
		must.FailDo(t, session.Release(x, m.c, noise), privacy.ErrUnplanned, "release 21 of 20")
	}
	// Sums of L1 sensitivities: no root of the number of entries is due. The scale is
	// that of [Li20] Theorem 1 for the whole matrix.
	noise, _ := privacy.CalibratePure(l1, 0.8, d, privacy.LaplaceNoise)
	must.Near(t, noise.(privacy.Laplace).Scale/(5*2*2.0/50/0.8), 1, 1e-9, "Laplace scale %v",
		noise.(privacy.Laplace).Scale)
	// A joint certificate of squares still gives no pure epsilon.
	joint, _ := g.Certify()
	must.Err(privacy.CalibratePure(joint, 1, d, privacy.KNormNoise))(t, "a root of summed squares was taken for a pure epsilon")
}

func newSession(t *testing.T, e account.Event) *privacy.LiveSession {
	t.Helper()
	l := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger")))(t)
	s := must.Get(l.Begin(ledger.Charge{DataID: "d", Algorithm: "a", Events: []account.Event{e}, Guarantee: "g", Unit: "u", Relation: "r", Released: "x"}, privacy.NewSeededSource(1)))(t)
	entries, err := l.Entries()
	if err != nil || len(entries) == 0 {
		t.Fatalf("the charge is not in the ledger: %v", err)
	}
	return s
}
