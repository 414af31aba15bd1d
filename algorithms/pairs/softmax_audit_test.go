package pairs_test

import (
	"context"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// softmaxAudit is a training on few pairs with a clip that every gradient exceeds, of rate 1/2.
func softmaxAudit(t testing.TB, loss embedding.InfoNCE) pairs.Spec {
	s := softmaxSpec(t, 12, loss)
	s.Clip, s.StepSize, s.Epochs, s.Batch, s.Budget = 1e-4, 1e-9, 1, 6, privacy.Budget{Epsilon: 4, Delta: 1e-3}
	return s
}

// No bound exceeds the claim. A pair that is replaced moves a release by nearly all of what the plan accounts for, where a
// replaced pair is the unit and batches have half of the pairs; one record of it alone moves less, and so do several pairs, which
// are accounted for as removed and added.
func TestAuditOfASoftmax(t *testing.T) {
	sizes.NotShort(t, "slow")
	group := softmaxAudit(t, embedding.InfoNCE{Temperature: 20})
	group.Unit = pairs.Group
	several := softmaxAudit(t, embedding.InfoNCE{Temperature: 1})
	several.Kappa = 2
	for name, c := range map[string]struct {
		spec pairs.Spec
		move float64
	}{
		"infonce":   {softmaxAudit(t, embedding.InfoNCE{Temperature: 0.5}), 0.6},
		"ntxent":    {softmaxAudit(t, embedding.InfoNCE{Temperature: 1, Symmetric: true}), 0.25},
		"group":     {group, 0.9},
		"two pairs": {several, 0.25},
		"one pair": {func() pairs.Spec {
			s := softmaxAudit(t, embedding.InfoNCE{Temperature: 1})
			s.Unit = pairs.OnePair
			return s
		}(), 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			target := must.Get(audit.WorstPairs(context.Background(), planOf(t, c.spec), 0))(t)
			r := run(t, target, 4_000)
			if !r.Holds() {
				t.Errorf("refuted: %+v, moves %v", r.Bounds, r.Move)
			}
			must.AtLeast(t, r.Move, c.move, "the exact vectors move")
		})
	}
}

// Noise for the pair's own softmax alone, or for a certificate of labelled pairs, is refuted.
func TestSeededDefectsOfASoftmaxAreCaught(t *testing.T) {
	s := softmaxAudit(t, embedding.InfoNCE{Temperature: 0.25})
	sound := planOf(t, s)
	wrong := must.Get(privacy.PairSample{Group: 1, Pairs: s.Pairs, Rate: 0.5, Expected: float64(s.Batch), TermNorm: 2 / 0.25}.Certify())(t)
	bad := *sound
	noise := must.Get(privacy.CalibrateGaussian(wrong, s.Budget, 2))(t)
	bad.Releases = algorithms.Releases{{Certificate: wrong, Noise: noise, Times: 2, Share: 0.5}}
	target := must.Get(audit.WorstPairs(context.Background(), &bad, 0))(t)
	if r := run(t, target, sizes.Of(16_000, 4_000)); r.Holds() || !testing.Short() && !r.Refuted() {
		t.Errorf("noise for one softmax is not caught: moves %v of the certificate, %+v for epsilon %v", r.Move, r.Bounds, r.Epsilon)
	}
}
