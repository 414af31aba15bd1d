package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// ErrRelation is wrapped by the error of a conversion between relations that does not hold.
var ErrRelation = errors.New("privacy: the guarantee cannot be converted to this neighbouring relation")

// ConvertBudget converts the (epsilon, delta) guarantee b from one relation to another. The argument from is
// the relation of b, and the argument to is the relation of the result. The proofs are in
// docs/theory.md#relation.
//
// From AddRemove to ReplaceOne, the result is (2 epsilon, (1 + exp(epsilon)) delta). Replacing a record is
// removing it and adding another record, so the result is GroupBudget for two records [Dwork and Roth 2014,
// Theorem 2.2; Vadhan 2017, Lemma 2.2]. The guarantee must hold for data sets of any size, as AddRemove
// requires.
//
// From ReplaceOne to AddRemove, the conversion requires that padded is true. Otherwise the error wraps
// ErrRelation. If padded is true, the caller declares that the mechanism first fills every data set up to a
// public capacity with copies of a public blank record. Adding a record then replaces a blank record, and
// (epsilon, delta) stays the same. Without padding no guarantee follows: publishing the number of records
// costs nothing under ReplaceOne and has no finite epsilon under AddRemove.
func ConvertBudget(b Budget, from, to account.Relation, padded bool) (Budget, error) {
	factor, err := conversionFactor(from, to, padded)
	if err != nil {
		return Budget{}, err
	}
	return GroupBudget(b, factor)
}

// ConvertMu converts the mu of a mu-GDP guarantee to another relation. From AddRemove to ReplaceOne, the
// result is 2 mu. From ReplaceOne to AddRemove, the result is mu, but padded must be true. ConvertBudget
// documents the conditions, errors and reasons.
func ConvertMu(mu float64, from, to account.Relation, padded bool) (float64, error) {
	factor, err := conversionFactor(from, to, padded)
	if err != nil {
		return 0, err
	}
	return GroupMu(mu, factor)
}

// conversionFactor returns the number of changes of one relation that together make one change of another.
// The first relation is the argument from, and the second relation is the argument to.
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
	return 0, fmt.Errorf("%w: a replace-one guarantee needs one public size of data sets; add blank records, or "+
		"use add/remove accounting", ErrRelation)
}

// GroupBudget returns the guarantee for k >= 1 changed records when one changed record has the guarantee
// (epsilon, delta). With delta = 0 the result is exactly k epsilon. Otherwise it is
//
//	(k epsilon, delta (exp(k epsilon) - 1)/(exp(epsilon) - 1))
//
// by Vadhan 2017, Lemma 2.2 (delta sum over i < k of exp(i epsilon)). At epsilon = 0 the resulting delta is k
// delta. The result is rounded up. It holds for every mechanism and relation. A bound that is computed
// directly for the group, for example by GroupMu, is smaller (docs/theory.md#groups). GroupBudget returns an
// error if the resulting delta is 1 or more, because such a guarantee promises nothing.
func GroupBudget(b Budget, k int) (Budget, error) {
	if !(b.Epsilon >= 0) || math.IsInf(b.Epsilon, 1) || !(b.Delta >= 0 && b.Delta < 1) {
		return Budget{}, fmt.Errorf("privacy: epsilon %v and delta %v are not a guarantee; want epsilon >= 0 and delta in "+
			"[0, 1)", b.Epsilon, b.Delta)
	}
	if k < 1 {
		return Budget{}, fmt.Errorf("privacy: a group has %d records, but must have at least 1", k)
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
		// A relative error of one unit in k epsilon changes the result by at most (k+1) epsilon units.
		out.Delta = round.Up(b.Delta*ratio, 16+int(min(out.Epsilon, 1000)))
	}
	if !(out.Delta < 1) || math.IsInf(out.Epsilon, 1) {
		return Budget{}, fmt.Errorf("privacy: epsilon %v and delta %v for one record give no guarantee for %d "+
			"records (delta would be >= 1)", b.Epsilon, b.Delta, k)
	}
	return out, nil
}

// GroupMu returns k mu, rounded up. It is the GDP parameter for k >= 1 changed records if the guarantee for
// one changed record is mu-GDP. This value is exact [Dong, Roth and Su 2022, Theorem 2.14 and the remark
// after it]. mu must be >= 0.
func GroupMu(mu float64, k int) (float64, error) {
	if !(mu >= 0) {
		return 0, fmt.Errorf("privacy: mu is %v, must not be negative", mu)
	}
	if k < 1 {
		return 0, fmt.Errorf("privacy: a group has %d records, but must have at least 1", k)
	}
	if mu == 0 || k == 1 {
		return mu, nil
	}
	return round.Up(mu*float64(k), 1), nil
}
