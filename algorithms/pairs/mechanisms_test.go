package pairs_test

import (
	"math"
	"testing"

	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

// stairLoss is the largest log ratio of the densities of staircase noise at 0 and shifted, in widths, on a fine grid of outputs.
func stairLoss(s pairs.Staircase, shift float64) (largest float64) {
	stair := func(x float64) float64 { // -log density up to a constant
		x = math.Abs(x)
		k := math.Floor(x)
		if x-k >= s.Gamma() {
			k++
		}
		return k * s.Epsilon
	}
	for x := -8.0; x < 8; x += 1.0 / 512 {
		largest = max(largest, math.Abs(stair(x)-stair(x-shift)))
	}
	return largest
}

// TestSharesAreSpent attacks docs/theory.md#coordinate-mechanisms: the worst moves of a unit cost all of epsilon and not more,
// whether its pairs are in one batch or in several. Shares that forget kappa, the epochs or a coordinate fail.
func TestSharesAreSpent(t *testing.T) {
	s := pairs.Spec{
		Individuals: 100, Pairs: 200, Dim: 3, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 2, Unit: pairs.Individual, Kappa: 3,
		Batch: 50, Epochs: 2, Budget: privacy.Budget{Epsilon: 2}, Noise: privacy.LaplaceNoise,
	}
	stairs, coin := s.Shares()
	every := float64(s.Dim * s.Rows * s.Epochs)
	together := every * stairLoss(stairs, float64(s.Kappa))
	apart := every * float64(s.Kappa) * stairLoss(stairs, 1)
	least := every * float64(s.Kappa) * stairLoss(stairs, 1.0/256)
	for name, loss := range map[string]float64{"in one batch": together, "in batches of their own": apart, "moved by next to nothing": least} {
		must.Near(t, loss, s.Budget.Epsilon, 1e-9, "SCDF, pairs %s: loss", name)
	}
	c := coin.Size()
	heads := func(t float64) float64 { return 0.5 + t/(2*c) }
	must.Near(t, every*float64(s.Kappa)*math.Log(heads(1)/heads(-1)), s.Budget.Epsilon, 1e-9, "Duchi: loss")
	s.Batch, s.Kappa = 100, 5 // two batches: a coin of each changes, whatever kappa is
	_, coin = s.Shares()
	c = coin.Size()
	must.Near(t, every*2*math.Log(heads(1)/heads(-1)), s.Budget.Epsilon, 1e-9, "Duchi in two batches: loss")
}

// TestMechanisms: the numbers of bench/results/pairs-mechanisms.csv at epsilon 0.5 come out, and what has no comparison is refused.
func TestMechanisms(t *testing.T) {
	s := pairs.Spec{
		Individuals: 100, Pairs: 50, Dim: 33, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 16, Unit: pairs.OnePair, Batch: 50, Epochs: 1,
		Budget: privacy.Budget{Epsilon: 0.5}, Noise: privacy.LaplaceNoise,
	}
	p := must.Get(s.Plan())(t)
	all := must.Get(p.Mechanisms())(t)
	want := map[string]float64{"K-norm": 1.84, "Laplace": 0.113137, "SCDF": 59.7364, "Duchi": 2112}
	for _, m := range all {
		must.Near(t, m.RMS/want[m.Name], 1, 2e-4, "%s: %v, want %v", m.Name, m.RMS, want[m.Name])
		delete(want, m.Name)
	}
	must.AtMost(t, len(want), 0, "missing: %v", want)
	s.Budget.Delta, s.Sampling = 1e-5, pairs.Poisson
	p = must.Get(s.Plan())(t)
	must.Err(p.Mechanisms())(t, "Poisson batches are compared")
}
