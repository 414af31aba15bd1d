package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// ErrRelation is wrapped by conversions between relations that do not hold.
var ErrRelation = errors.New("privacy: the guarantee does not carry over to this relation")

// ConvertBudget states an (epsilon, delta) guarantee under another relation.
//
// Proofs: docs/theory.md#relation. From AddRemove to ReplaceOne: (2 epsilon, (1 +
// exp(epsilon)) delta). Replacing a record is removing it and adding another, so this is
// GroupBudget for two [Dwork and Roth 2014, Theorem 2.2; Vadhan 2017, Lemma 2.2]. The
// guarantee must hold for data sets of any size, as AddRemove says.
//
// From ReplaceOne to AddRemove: only with padded, else the error wraps
// ErrRelation. Padded declares that the mechanism fills every data set up to a
// public capacity with copies of a public blank record before anything else, so
// that adding a record is replacing a blank one: the same (epsilon, delta).
// Without it nothing follows: publishing the number of records costs nothing
// under ReplaceOne and has no finite epsilon under AddRemove.
func ConvertBudget(b Budget, from, to account.Relation, padded bool) (Budget, error) {
	factor, err := conversionFactor(from, to, padded)
	if err != nil {
		return Budget{}, err
	}
	return GroupBudget(b, factor)
}

// ConvertMu states a mu-GDP guarantee under another relation: 2 mu from AddRemove to
// ReplaceOne, mu from ReplaceOne to AddRemove if padded. Conditions, errors and reasons
// are as in ConvertBudget.
func ConvertMu(mu float64, from, to account.Relation, padded bool) (float64, error) {
	factor, err := conversionFactor(from, to, padded)
	if err != nil {
		return 0, err
	}
	return GroupMu(mu, factor)
}

// conversionFactor is the number of changes of relation from that make up one of
// relation to.
func conversionFactor(from, to account.Relation, padded bool) (int, error) {
	if err := errors.Join(from.Validate(), to.Validate()); err != nil {
		return 0, err
	}
	switch {
	case from == to:
		return 1, nil
	case from == account.AddRemove:
		return 2, nil
	case padded:
		return 1, nil
	}
	return 0, fmt.Errorf("%w: a replace-one guarantee protects no data set of another size; fill up to a public capacity with blank records, or account under add/remove", ErrRelation)
}

// GroupBudget is the guarantee for k >= 1 changed records when one changed record
// has (epsilon, delta): pure epsilon gives k epsilon exactly, otherwise
//
//	(k epsilon, delta (exp(k epsilon) - 1)/(exp(epsilon) - 1))
//
// [Vadhan 2017, Lemma 2.2: delta sum over i < k of exp(i epsilon)], with k delta at epsilon
// = 0. It holds for every mechanism and relation; a bound computed for the group itself, for
// example GroupMu, is smaller (docs/theory.md#groups). Rounded up. A delta of 1 or more is
// an error, since it promises nothing.
func GroupBudget(b Budget, k int) (Budget, error) {
	if !(b.Epsilon >= 0) || math.IsInf(b.Epsilon, 1) || !(b.Delta >= 0 && b.Delta < 1) {
		return Budget{}, fmt.Errorf("privacy: epsilon %v and delta %v are not a guarantee: want epsilon >= 0 and delta in [0, 1)", b.Epsilon, b.Delta)
	}
	if k < 1 {
		return Budget{}, fmt.Errorf("privacy: a group of %d records, must be at least 1", k)
	}
	if k == 1 {
		return b, nil
	}
	out := Budget{Epsilon: b.Epsilon * float64(k), Delta: 0}
	if b.Epsilon > 0 {
		out.Epsilon = round.Up(out.Epsilon, 1)
	}
	if b.Delta > 0 {
		ratio := float64(k)
		if b.Epsilon > 0 {
			ratio = math.Expm1(out.Epsilon) / math.Expm1(b.Epsilon)
		}
		// (k+1) epsilon is an upper bound of how much a relative error of one
		// unit in k epsilon matters.
		out.Delta = round.Up(b.Delta*ratio, 16+int(min(out.Epsilon, 1000)))
	}
	if !(out.Delta < 1) || math.IsInf(out.Epsilon, 1) {
		return Budget{}, fmt.Errorf("privacy: epsilon %v and delta %v for one record promise nothing for %d records: delta would be 1 or more", b.Epsilon, b.Delta, k)
	}
	return out, nil
}

// GroupMu is the mu of k >= 1 changed records when one changed record has mu-GDP:
// k mu, exactly [Dong, Roth and Su 2022, Theorem 2.14 and the remark after it],
// rounded up. mu >= 0.
func GroupMu(mu float64, k int) (float64, error) {
	if !(mu >= 0) {
		return 0, fmt.Errorf("privacy: mu is %v, must not be negative", mu)
	}
	if k < 1 {
		return 0, fmt.Errorf("privacy: a group of %d records, must be at least 1", k)
	}
	if mu == 0 || k == 1 {
		return mu, nil
	}
	return round.Up(mu*float64(k), 1), nil
}
