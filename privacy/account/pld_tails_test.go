package account

import (
	"math"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// accountOf is the privacy loss distribution of count releases.
func accountOf(t *testing.T, e Event, count int) *PLD {
	t.Helper()
	a := new(PLD)
	must.Do(t, a.Compose(Repeat(e, count)))
	return a
}

func poissonOf(sigma, rate float64, r Relation) PoissonEvent {
	return PoissonEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: sigma}, Rate: rate, Relation: r}
}

// divergence is the hockey-stick divergence of one loss distribution as it stands.
func (l lossPMF) divergence(h, epsilon float64) float64 {
	sum := l.inf
	for i, p := range l.p {
		if loss := float64(l.nodes[i])*h + l.shift; loss > epsilon {
			sum += p * -math.Expm1(epsilon-loss)
		}
	}
	return sum
}

// One release on wide cells has at least its exact divergence in both directions, and hardly more. The
// defects are caught: a cell's mass all at its lower node, and cut losses that vanish.
func TestWideCellsDominate(t *testing.T) {
	caught := [2]bool{}
	for _, e := range []Event{
		poissonOf(1, 0.001, AddRemove), poissonOf(0.5, 0.01, AddRemove), poissonOf(2, 0.2, AddRemove), poissonOf(0.8, 0.02, ReplaceOne),
		WithoutReplacementEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 1}, Batch: 10, Records: 1000},
		PoissonEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 2}, Rate: 0.01, Relation: AddRemove, Group: 4},
	} {
		law := e.facts().law()
		h := chooseInterval([]countedLaw{{law, 1}})
		for _, reversed := range []bool{false, true} {
			if law.pair.weights != nil && reversed {
				continue // one cell more of the same code
			}
			pmf := law.discretise(h, reversed)
			if all := pmf.last() - pmf.first(); len(pmf.nodes) > all {
				t.Fatalf("%v: %d nodes for %d intervals: no cell is wide", e, len(pmf.nodes), all)
			}
			lower, lost := pmf, pmf
			lower.p = append(append([]float64{}, pmf.p[1:]...), 0)
			cut := pmf.cut(1e-6)
			lost = cut
			lost.inf = pmf.inf
			for _, epsilon := range []float64{0, 1e-4, 0.01, 0.1, 0.5, 1, 2, 3, 5} {
				want := law.delta(epsilon, reversed) // up to 4 massMargin
				floor := want*(1-1e-10) - 1e-11*math.Exp(-epsilon)*pmf.tail(h, epsilon)
				got := pmf.divergence(h, epsilon)
				must.AtLeast(t, got, floor, "%v, reversed %v, epsilon %v: %v is below the exact %v", e, reversed, epsilon, got, want)
				must.AtMost(t, got, want*1.01+1e-4, "%v, reversed %v, epsilon %v: %v is far above the exact %v", e, reversed, epsilon, got, want)
				must.Within(t, cut.divergence(h, epsilon), floor, got+1.1e-6,
					"%v, reversed %v, epsilon %v: cut at 1e-6, %v becomes", e, reversed, epsilon, got)
				caught[0] = caught[0] || lower.divergence(h, epsilon) < floor
				caught[1] = caught[1] || lost.divergence(h, epsilon) < floor
			}
		}
	}
	must.Equal(t, caught, [2]bool{true, true}, "defects caught")
}

// tail is the probability of losses above epsilon, for the rounding of an exact divergence.
func (l lossPMF) tail(h, epsilon float64) (sum float64) {
	for i, p := range l.p {
		if float64(l.nodes[i])*h > epsilon {
			sum += p
		}
	}
	return sum + l.inf
}

// At a rate next to 1 wide cells give the exact curve of composed Gaussian releases from above: truth and
// curve differ by at most count (1 - rate).
func TestWideCellsCompose(t *testing.T) {
	for _, c := range []struct {
		sigma float64
		count int
	}{{1, 2}, {5, 10}, {40, 1000}} {
		const away = 1e-12
		a := accountOf(t, poissonOf(c.sigma, 1-away, AddRemove), c.count)
		mu := math.Sqrt(float64(c.count)) / c.sigma
		for _, epsilon := range []float64{0.1, 0.5, 1, 2, 4} {
			want, got := GDPDelta(epsilon, mu), a.Delta(epsilon)
			must.Within(t, got, want*(1-1e-11)-float64(c.count)*away, want*1.01+1e-9, "%+v: delta(%v), exact %v", c,
				epsilon, want)
		}
	}
}

// The answers are those of a grid of equal cells and whole tails (computed before cells became
// wider), up to 2e-5, and a composition of 10,000 rare batches takes a small part of the time that it took.
func TestAnswersOfEqualCells(t *testing.T) {
	for _, c := range []struct {
		e     Event
		count int
		want  [3]float64 // epsilon at delta 1e-3, 1e-5, 1e-9
	}{
		{poissonOf(1, 0.001, AddRemove), 10000, [3]float64{0.2804332203956983, 0.47577091412663325, 0.7662529451116361}},
		{poissonOf(1, 0.01, AddRemove), 1000, [3]float64{1.16253569948227, 1.8282659162834296, 2.989613812402901}},
		{poissonOf(0.7, 0.02, AddRemove), 50, [3]float64{1.571700197708406, 3.202927593442353, 6.259534678255561}},
		{poissonOf(2, 0.1, ReplaceOne), 300, [3]float64{6.227036445767789, 8.327190932727207, 11.415425237082893}},
		{poissonOf(4, 0.5, ReplaceOne), 20, [3]float64{3.570607739730852, 4.938871230027612, 6.927482872524221}},
		{PoissonEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 3}, Rate: 0.01, Relation: AddRemove, Group: 5}, 100, [3]float64{0.39449413763936125, 0.6554351227755513, 1.0387072377727287}},
		{WithoutReplacementEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 1}, Batch: 10, Records: 100}, 200, [3]float64{8.432498355019714, 11.401528578948689, 16.14751157146949}},
	} {
		if !sizes.Full() && c.count >= 300 {
			continue // large transforms
		}
		start := time.Now()
		a := accountOf(t, c.e, c.count)
		for i, delta := range []float64{1e-3, 1e-5, 1e-9} {
			must.Near(t, a.Epsilon(delta), c.want[i], 2e-5*c.want[i], "%v x %d: epsilon(%g)", c.e, c.count, delta)
		}
		t.Logf("%v x %d: %v", c.e, c.count, time.Since(start))
	}
}

// A transform is as long as the sum is wide, not as its rarest loss is large: 2^18 where it was 2^21.
func TestWindowsFollowTheSum(t *testing.T) {
	a := accountOf(t, poissonOf(1, 0.001, AddRemove), 10_000)
	epsilon := a.Epsilon(1e-5)
	whole := a.compose()[0]
	must.AtMost(t, len(whole.cut(1e-14).tilt(whole.cut(1e-14).saddle(epsilon)).q), 1<<18, "a transform of")
	must.AtLeast(t, len(whole.tilt(12.3).q), 1<<20, "the control, without a cut and at the tilt of the moments' bound, has a transform of")
}

// BenchmarkRareBatches is 10,000 Poisson batches of rate 0.001, noise 1, epsilon at delta 1e-5.
func BenchmarkRareBatches(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		a := new(PLD)
		must.Do(b, a.Compose(Repeat(poissonOf(1, 0.001, AddRemove), 10_000)))
		if e := a.Epsilon(1e-5); !(e > 0.475 && e < 0.477) {
			b.Fatal(e)
		}
	}
}
