package local_test

import (
	"context"
	"testing"

	"dyad/algorithms/local"
	"dyad/internal/must"
	"dyad/privacy"
)

// The randomised answers estimate the accuracy, and every training and answer is in
// the guarantee.
func TestChoosingLambdaIsCharged(t *testing.T) {
	records := users(t, 6000, 3, 1)
	p := protocol(local.DJW)
	p.Users, p.Epochs = records.Len(), 2
	grid := []float64{1e4, 0.1}
	c := must.Get(local.ChooseL2(context.Background(), p, grid, 3, records, privacy.NewSeededSource(3)))(t)
	p.L2 = c.L2
	g := plan(t, p).Choosing(c)
	// 2 candidates on 2 of 3 folds each, 2 answers, and the last training.
	if want := 2 * (2*2*2 + 2 + 2.0); g.Kind != privacy.LocalDP || g.Epsilon < want || g.Epsilon > want*1.0001 {
		t.Errorf("%v with epsilon %v, want %v", g.Kind, g.Epsilon, want)
	}
	must.Contain(t, g.Released, "the user's 12 messages")
	// The answers are unbiased where the training is stable: with labels only.
	stable := p
	stable.Method = local.PrestigeLabel
	c2 := must.Get(local.ChooseL2(context.Background(), stable, []float64{1, 0.1}, 2, records, privacy.NewSeededSource(3)))(t)
	stable.L2 = 0.1
	of := make([]int32, records.Len())
	for i := range of {
		of[i] = int32(i)
	}
	persons := must.Get(records.GroupPersons(of, len(of), 2))(t)
	must.Err(local.Simulate(context.Background(), plan(t, stable), persons, privacy.NewSeededSource(4), nil))(t, "rows of persons were taken for users")
	must.Err(local.ChooseL2(context.Background(), stable, []float64{0.1, 1}, 2, persons, privacy.NewSeededSource(4)))(t, "folds took rows of persons for users")
	st := must.Get(local.Simulate(context.Background(), plan(t, stable), records, privacy.NewSeededSource(4), nil))(t)
	must.Near(t, c2.Accuracies[1], accuracy(st.W, records), 0.06, "accuracy that the answers estimate")
	sgd := protocol(local.SGD)
	sgd.Users = records.Len()
	if g := plan(t, sgd).Choosing(c); g.Kind != privacy.None || len(g.Warnings) < 2 {
		t.Errorf("a choice without privacy is not marked: %+v", g)
	}
	for _, bad := range []struct {
		grid  []float64
		folds int
	}{{grid[:1], 3}, {grid, 1}, {grid, 3001}, {[]float64{0.1, -1}, 2}} {
		must.Fail(local.ChooseL2(context.Background(), p, bad.grid, bad.folds, records, privacy.NewSeededSource(1)))(t, local.ErrProtocol, "candidates ", bad.grid, " in ", bad.folds, " folds")
	}
}
