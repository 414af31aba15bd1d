package account

import (
	"errors"
	"math"
	"testing"

	"dyad/internal/must"
)

// With no batches the total is the total of GDP. With batches it is at most the total of known
// ones, at least the total of the rest, and composes any mixture.
func TestTotal(t *testing.T) {
	gauss := Repeat(GaussianEvent{Sensitivity: 1, Sigma: 5}, 3)
	batch := Repeat(WithoutReplacementEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 1.2}, Batch: 10, Records: 200}, 40)
	others := []Event{
		gauss, StreamEvent{Sensitivity: 1, Sigma: 4, Count: 9}, Repeat(PureEvent{Epsilon: 0.1}, 2), LaplaceEvent{Sensitivity: 1, Scale: 9},
		ParallelEvent{Parts: []Event{gauss, PureEvent{Epsilon: 0.2}}}, ParallelEvent{Parts: []Event{PureEvent{Epsilon: 0.3}}},
		ConvergentEvent{Gap: 0.01, Contraction: 1, Diameter: 2, Sigma: 0.3, Grid: 0x1p-30, Steps: 1000},
		PublicEvent{}, ComposedEvent{Events: []Event{gauss, batch}}, ParallelEvent{Parts: []Event{batch, gauss}},
	}
	var withBatch, without Total
	var g GDP
	must.Do(t, withBatch.Compose(batch))
	for _, e := range others {
		must.CheckDo(t, withBatch.Compose(e), e)
		var one Total
		if err := one.Compose(e); err != nil || one.Sampled() {
			continue
		}
		must.CheckDo(t, errors.Join(without.Compose(e), g.Compose(e)), e)
	}
	for _, delta := range []float64{1e-8, 1e-5, 1e-2} {
		if without.Epsilon(delta) != g.Epsilon(delta) || without.Mu() != g.Mu() || without.Sampled() {
			t.Errorf("without batches: %v, GDP %v", without.Epsilon(delta), g.Epsilon(delta))
		}
		epsilon := withBatch.Epsilon(delta)
		if !(epsilon > without.Epsilon(delta) && epsilon < GDPEpsilon(withBatch.Mu(), delta)) || !withBatch.Sampled() {
			t.Errorf("with batches: %v, without %v, known batches %v", epsilon, without.Epsilon(delta), GDPEpsilon(withBatch.Mu(), delta))
		}
		if d := withBatch.Delta(epsilon); d > delta*(1+1e-6) {
			t.Errorf("delta(%v) = %v, want %v", epsilon, d, delta)
		}
	}
	before := withBatch.Epsilon(1e-5)
	for _, bad := range []Event{UnknownEvent{}, ComposedEvent{Events: []Event{batch, UnknownEvent{}}}, PoissonEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.1, Relation: AddRemove}, WithoutReplacementEvent{}} {
		if err := withBatch.Compose(bad); err == nil || withBatch.Epsilon(1e-5) != before {
			t.Errorf("%v: %v, epsilon %v, was %v", bad, err, withBatch.Epsilon(1e-5), before)
		}
	}
	if err := withBatch.Compose(NonPrivateEvent{}); err != nil || !math.IsInf(withBatch.Epsilon(1e-5), 1) {
		t.Errorf("a non-private release: %v, %v", err, withBatch.Epsilon(1e-5))
	}
}
