package audit_test

import (
	"context"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

// Claims for networks hold on the worst neighbours that the search finds, for scores and embeddings, with
// plain steps, Adam and secret batches; a build with a twentieth of its noise is refuted.
func TestAuditOfNetworks(t *testing.T) {
	const n, d = 20, 2
	runs := 2000
	if testing.Short() {
		runs = 400
	}
	loss := func(out int, pair embedding.PairLoss, stage embedding.Output) embedding.Loss {
		net := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: []int{4}, Out: out}))(t)
		return embedding.Loss{Model: embedding.Model{Network: net, Output: stage}, Pair: pair, Clip: 0.3}
	}
	score := loss(1, embedding.Score{Of: engine.Logistic{}}, embedding.Output{})
	adam := algorithms.Optimizer{Update: "adam", Decay: "linear"}
	for _, c := range []struct {
		a       algorithms.Algorithm
		loss    embedding.Loss
		refuted bool
	}{
		{algorithms.GradientPerturbation{Steps: 3, StepSize: 0.1}, score, false},
		{algorithms.GradientPerturbation{Steps: 3, StepSize: 0.1, Optimizer: adam}, loss(2, embedding.Bilinear{Of: engine.Logistic{}}, embedding.Output{Unit: true}), false},
		{algorithms.SubsampledDescent{Steps: 3, StepSize: 0.1, BatchRecords: 8, Optimizer: adam}, score, false},
		{lessNoise{algorithms.GradientPerturbation{Steps: 3, StepSize: 0.1, Optimizer: adam}, 0.05}, score, true},
	} {
		problem := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: c.loss.Radius()}
		s := must.Get(algorithms.NewSpec(embedding.Backend{Workers: 1}, problem, 0, privacy.Budget{Epsilon: 2, Delta: 1e-5}, algorithms.Certified))(t)
		p := must.Get(c.a.Plan(s))(t)
		target := must.Get(audit.Worst(context.Background(), c.a, p, 1))(t)
		r := mustRun(t, target, audit.Options{Runs: runs, Seed: 1})
		t.Logf("%s of %s: moves %.3f, epsilon >= %.3f of %.3f", r.Algorithm, r.Loss, r.Move, r.LowerBound, r.Epsilon)
		if r.Move > 1 || r.OffGrid != 0 || r.Holds() == c.refuted {
			t.Errorf("%s of %s: moves %v, %d off the grid, epsilon >= %v of %v, want refuted %v", r.Algorithm, r.Loss, r.Move, r.OffGrid, r.LowerBound, r.Epsilon, c.refuted)
		}
	}
}
