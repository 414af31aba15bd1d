package account

import (
	"errors"
	"fmt"

	"dyad/privacy/internal/round"
)

// NoiseLaw is the law of the noise of a subsampled release. The zero value is not
// a law.
type NoiseLaw string

const (
	// GaussianLaw: N(0, Scale^2) in every coordinate, sensitivity in L2.
	GaussianLaw NoiseLaw = "gaussian"
	// LaplaceLaw: density exp(-|x|/Scale)/(2 Scale) in every coordinate,
	// sensitivity in L1.
	LaplaceLaw NoiseLaw = "laplace"
)

// PoissonEvent is Count adaptive releases. For each, every record enters a batch
// with probability Rate, independently of everything else and of the other
// releases; which records entered stays secret, also how many. Released is a query
// of the batch plus exact continuous noise of law Law and scale Scale, rounded to
// a grid after the addition. The query moves by at most j Sensitivity when j of the
// records of one owner are added to the batch or taken out of it. A sum over the batch
// divided by a public constant is such a query, a mean over the random batch size is
// not.
//
// One owner has at most Group records, and neighbours differ in all of them: pairs of
// individuals are records of two owners each, and Group is the degree cap. Relation is
// that of the whole data sets. Under AddRemove a neighbour lacks the owner's records.
// Under ReplaceOne every one of them is replaced and enters the batch with the same
// coin, so the batches with j of them differ by up to 2 j Sensitivity.
//
// With f the noise density in one dimension, m = Sensitivity/Scale, k = Group and B the
// binomial law of k coins of probability Rate, let mix(x) = sum_j B(j) f(x-jm), which is
// (1-Rate) f(x) + Rate f(x-m) for k = 1. The releases are dominated by
//
//	AddRemove, records removed:  (mix(x), f(x))
//	AddRemove, records added:    (f(x), mix(x))
//	ReplaceOne:                  (mix(x), mix(-x))
//
// (proofs: dominate.go, and dominate_group.go for k > 1), and no smaller pair dominates
// them: terms of norm Sensitivity in one direction, opposite in the two data sets, reach
// it. The two cases of AddRemove compose separately: which one it is does not change from
// release to release.
type PoissonEvent struct {
	Law         NoiseLaw
	Sensitivity float64 // > 0, roundoff included
	Scale       float64 // > 0
	Rate        float64 // in (0, 1]; 1 is no subsampling
	Relation    Relation
	// Group is the largest number of records of one owner, at most MaxGroup; 0 means 1.
	// Above 1 the noise must be Gaussian.
	Group int
	Count int // >= 1
}

// MaxGroup bounds PoissonEvent.Group, and with it the cost of accounting.
const MaxGroup = 256

// WithoutReplacementEvent is Count adaptive releases. For each, a batch of Batch
// of the Records records is drawn, uniform over all subsets of this size,
// independently of everything else and of the other releases; the batch stays
// secret. Released is a query of the batch plus exact continuous noise of law Law
// and scale Scale, rounded to a grid after the addition. The query moves by at
// most Sensitivity when one record of the batch is replaced by any other. The
// relation is ReplaceOne: Records is public.
//
// With f the noise density in one dimension, m = Sensitivity/Scale and gamma =
// Batch/Records, the hockey-stick divergence of every order exp(epsilon) >= 1
// between neighbours is at most that of
//
//	((1-gamma) f(x) + gamma f(x-m),  f(x))
//
// and, the relation being symmetric, this gives the orders below 1 too (see
// dominate.go for the proof).
type WithoutReplacementEvent struct {
	Law         NoiseLaw
	Sensitivity float64 // > 0, roundoff included
	Scale       float64 // > 0
	Batch       int     // >= 1
	Records     int     // >= Batch
	Count       int     // >= 1
}

func (PoissonEvent) event()            {}
func (WithoutReplacementEvent) event() {}

// String returns e.g. "gaussian(sensitivity 1, scale 2) on Poisson batches of
// rate 0.01 (add/remove) x 100", with "8 of one owner" after the rate for a group.
func (e PoissonEvent) String() string {
	group := ""
	if e.group() > 1 {
		group = fmt.Sprintf(", %d of one owner", e.Group)
	}
	return fmt.Sprintf("%s(sensitivity %.6g, scale %.6g) on Poisson batches of rate %.6g%s (%s) x %d", e.Law, e.Sensitivity, e.Scale, e.Rate, group, e.Relation, e.Count)
}

// group is Group with its zero value read.
func (e PoissonEvent) group() int { return max(1, e.Group) }

// KnownSensitivity is how far the query moves under ReplaceOne if all records of the owner are in
// the batch.
func (e PoissonEvent) KnownSensitivity() float64 {
	return round.Up(2*float64(e.group())*e.Sensitivity, 1)
}

// String returns e.g. "gaussian(sensitivity 1, scale 2) on batches of 16 of 256
// records (replace-one) x 100".
func (e WithoutReplacementEvent) String() string {
	return fmt.Sprintf("%s(sensitivity %.6g, scale %.6g) on batches of %d of %d records (%s) x %d", e.Law, e.Sensitivity, e.Scale, e.Batch, e.Records, ReplaceOne, e.Count)
}

// Validate returns an error unless all numbers are in range.
func (l NoiseLaw) Validate() error {
	if l == GaussianLaw || l == LaplaceLaw {
		return nil
	}
	return fmt.Errorf("account: noise law is %q, must be %q or %q", string(l), GaussianLaw, LaplaceLaw)
}

// Validate returns an error unless all numbers are in range.
func (e PoissonEvent) Validate() error {
	if !(e.Rate > 0 && e.Rate <= 1) {
		return fmt.Errorf("account: rate of a Poisson event is %v, must be in (0, 1]", e.Rate)
	}
	if e.Group < 0 || e.Group > MaxGroup {
		return fmt.Errorf("account: a Poisson event with %d records of one owner, want at least 1 and at most %d", e.Group, MaxGroup)
	}
	if e.Group > 1 && e.Law != GaussianLaw {
		return fmt.Errorf("account: a Poisson event with %d records of one owner needs Gaussian noise, not %s", e.Group, e.Law)
	}
	return errors.Join(e.Law.Validate(), e.Relation.Validate(),
		checkEvent("a Poisson event", e.Count, "sensitivity", e.Sensitivity, "scale", e.Scale))
}

// Validate returns an error unless all numbers are in range.
func (e WithoutReplacementEvent) Validate() error {
	if e.Batch < 1 || e.Batch > e.Records {
		return fmt.Errorf("account: batches of %d of %d records: want at least 1 and at most all", e.Batch, e.Records)
	}
	return errors.Join(e.Law.Validate(),
		checkEvent("an event on batches", e.Count, "sensitivity", e.Sensitivity, "scale", e.Scale))
}
