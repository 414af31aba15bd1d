package privacy_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// The group formula against the exact curve of mu-GDP for a group, k mu; and the
// formula without the factor of delta is not a theorem.
func TestGroupBudget(t *testing.T) {
	naiveHolds := true
	for _, mu := range []float64{0.1, 0.5, 2} {
		for _, epsilon := range []float64{0, 0.01, 0.3, 1.5} {
			for _, k := range []int{1, 2, 5} {
				delta := account.GDPDelta(epsilon, mu)
				groupMu, err := privacy.GroupMu(mu, k)
				if err != nil || groupMu < float64(k)*mu {
					t.Fatalf("GroupMu(%v, %d) = %v, %v", mu, k, groupMu, err)
				}
				exact := account.GDPDelta(float64(k)*epsilon, float64(k)*mu)
				if exact > float64(k)*delta*(1+1e-9) {
					naiveHolds = false
				}
				b, err := privacy.GroupBudget(privacy.Budget{Epsilon: epsilon, Delta: delta}, k)
				if err != nil {
					continue // promises nothing
				}
				if b.Epsilon < float64(k)*epsilon || b.Delta < exact*(1-1e-9) {
					t.Errorf("mu %v, epsilon %v, k %d: %+v is below the exact delta %v", mu, epsilon, k, b, exact)
				}
			}
		}
	}
	if naiveHolds {
		t.Error("(k epsilon, k delta) was never violated: the comparison catches nothing")
	}
	b, err := privacy.GroupBudget(privacy.Budget{Epsilon: 0.5, Delta: 1e-6}, 3)
	if want := 1e-6 * (1 + math.Exp(0.5) + math.Exp(1)); err != nil || !within(b.Delta, want, 1e-13) || !within(b.Epsilon, 1.5, 1e-15) {
		t.Errorf("%+v, %v, want delta %v", b, err, want)
	}
	if b, err := privacy.GroupBudget(privacy.Budget{Epsilon: 0.25}, 4); err != nil || b.Delta != 0 || !within(b.Epsilon, 1, 1e-15) {
		t.Errorf("pure epsilon: %+v, %v", b, err)
	}
	for _, c := range []struct {
		b privacy.Budget
		k int
	}{{privacy.Budget{Epsilon: 1, Delta: 0.3}, 3}, {privacy.Budget{Epsilon: -1}, 2}, {privacy.Budget{Epsilon: 1, Delta: 1}, 2}, {privacy.Budget{Epsilon: 1}, 0}, {privacy.Budget{Epsilon: 400, Delta: 1e-9}, 3}} {
		if b, err := privacy.GroupBudget(c.b, c.k); err == nil {
			t.Errorf("%+v for %d: %+v, want an error", c.b, c.k, b)
		}
	}
}

func TestConvertBudget(t *testing.T) {
	b := privacy.Budget{Epsilon: 0.7, Delta: 1e-5}
	got, err := privacy.ConvertBudget(b, account.AddRemove, account.ReplaceOne, false)
	if want := 1e-5 * (1 + math.Exp(0.7)); err != nil || !within(got.Epsilon, 1.4, 1e-15) || !within(got.Delta, want, 1e-13) {
		t.Errorf("%+v, %v", got, err)
	}
	must.Fail(privacy.ConvertBudget(b, account.ReplaceOne, account.AddRemove, false))(t, privacy.ErrRelation, "replace-one to add/remove")
	must.Fail(privacy.ConvertMu(1, account.ReplaceOne, account.AddRemove, false))(t, privacy.ErrRelation, "mu, replace-one to add/remove")
	must.Equal(t, must.Get(privacy.ConvertBudget(b, account.ReplaceOne, account.AddRemove, true))(t), b, "padded")
	if mu, err := privacy.ConvertMu(0.3, account.AddRemove, account.ReplaceOne, false); err != nil || !within(mu, 0.6, 1e-15) {
		t.Errorf("mu %v, %v", mu, err)
	}
	must.Err(privacy.ConvertBudget(b, "", account.ReplaceOne, true))(t, "the empty relation is accepted")
	// The exact pair of Poisson batches under replace-one is within the conversion
	// of add/remove.
	for _, epsilon := range []float64{0.1, 1} {
		e := account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1.5}, Rate: 0.3, Relation: account.AddRemove}
		one := single(t, e, epsilon)
		e.Relation = account.ReplaceOne
		two := single(t, e, 2*epsilon)
		bound, err := privacy.GroupBudget(privacy.Budget{Epsilon: epsilon, Delta: one}, 2)
		if err != nil || two > bound.Delta || !(two > 0) {
			t.Errorf("epsilon %v: replaced %v, bound %+v, %v", epsilon, two, bound, err)
		}
	}
}

// within reports whether got is an upper bound of want, by at most rel.
func within(got, want, rel float64) bool { return got >= want*(1-1e-13) && got <= want*(1+rel) }

// single is the exact delta of one release.
func single(t *testing.T, e account.Event, epsilon float64) float64 {
	t.Helper()
	var a account.PLD
	must.Do(t, a.Compose(e))
	return a.Delta(epsilon)
}
