package account

import (
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// NoiseLaw is the distribution of the noise of a subsampled release. The zero value is invalid.
type NoiseLaw string

const (
	// GaussianLaw stands for N(0, Scale^2) noise in every coordinate. The sensitivity is in the L2 norm.
	GaussianLaw NoiseLaw = "gaussian"
	// LaplaceLaw stands for noise of density exp(-|x|/Scale)/(2 Scale) in every coordinate. The sensitivity
	// is in the L1 norm.
	LaplaceLaw NoiseLaw = "laplace"
)

// Event returns the event of one release with noise of the law l. Any text except LaplaceLaw stands for
// GaussianLaw.
func (l NoiseLaw) Event(sensitivity, scale float64) Event {
	if l == LaplaceLaw {
		return LaplaceEvent{Sensitivity: sensitivity, Scale: scale}
	}
	return GaussianEvent{Sensitivity: sensitivity, Sigma: scale}
}

// noiseOf returns the noise of a release, if such a release can be made about a batch.
func noiseOf(what string, e Event) (noise, error) {
	f, err := describe(e)
	if _, repeated := e.(RepeatedEvent); err == nil && (f.noise == nil || repeated) {
		err = fmt.Errorf("account: %s needs one release with Gaussian or Laplace noise, but contains %v", what, e)
	}
	if err != nil {
		return noise{}, err
	}
	return *f.noise, nil
}

// sampledBounds sets the bounds that follow from the dominating pair of a release about a batch.
func (f *facts) sampledBounds(law NoiseLaw, pair func() dominatingPair) {
	f.law = func() releaseLaw { return releaseLaw{pair: pair()} }
	if law == LaplaceLaw {
		f.pure = &purity{pair().lossBound(), 1}
		f.barred = "the noise must be Gaussian"
	}
}

// PoissonEvent is a release with Gaussian or Laplace noise about a Poisson batch. The field Event describes
// the release without the sampling. Every record enters the batch with probability Rate, independently of
// everything else and of other releases. The members of the batch and their number stay secret. If j records
// of one owner are added to the batch or removed from it, the query moves by at most j times the sensitivity
// of Event. A sum over the batch divided by a public constant is such a query. A mean over the random batch
// size is not such a query.
//
// One owner has at most Group records, and neighbouring data sets differ in all records of one owner. For
// example, pairs of individuals are records of two owners each, and Group is the degree cap. Relation refers
// to the whole data sets. Under AddRemove, a neighbouring data set lacks the owner's records. Under
// ReplaceOne, every record of the owner is replaced and enters the batch with the same coin. So if a batch
// contains j of these records, the query moves by up to 2 j times the sensitivity.
//
// Let f be the noise density in one dimension, m = sensitivity/scale, k = Group, and B the binomial law of k
// coins of probability Rate. Let mix(x) = sum_j B(j) f(x-jm), which is (1-Rate) f(x) + Rate f(x-m) for k = 1.
// The releases are dominated by the following pairs (proof: docs/theory.md#poisson):
//
//	AddRemove, records removed:  (mix(x), f(x))
//	AddRemove, records added:    (f(x), mix(x))
//	ReplaceOne:                  (mix(x), mix(-x))
//
// No smaller pair dominates the releases. The bound is attained if every term has a norm equal to the
// sensitivity, all terms of a data set have the same direction, and the directions in the two data sets
// are opposite. The two cases of AddRemove compose separately, because the case does not change from
// release to release.
//
// A smaller bound holds if a query moves by at most Replaced when one record of the batch is replaced. Let r
// = Replaced/scale. For ReplaceOne and k = 1, the hockey-stick divergence of every order exp(epsilon) >= 1 is
// then at most the divergence of
//
//	((1-Rate) f(x) + Rate f(x-m),  (1-Rate) f(x) + Rate f(x-m+r))
//
// The relation is symmetric, so this pair also determines the orders below 1 (proof:
// docs/theory.md#poisson-replaced). For k > 1 this bound is used only at Rate 1, where all records are in the
// batch. At a rate below 1, the same pair with k r is not valid.
type PoissonEvent struct {
	Event    Event
	Rate     float64 // Rate is in (0, 1]. With the value 1, every batch contains all records.
	Relation Relation
	// Group is the largest number of records that one owner has. It is at most MaxGroup, and the value 0
	// means 1. If Group is above 1, the noise must be Gaussian.
	Group int
	// Replaced bounds how far the query moves when one record of the batch is replaced. It is between one
	// and two times the sensitivity of Event. The value 0 means two times the sensitivity. Any other value
	// requires Gaussian noise and the relation ReplaceOne.
	Replaced float64
}

// MaxGroup is the largest value of PoissonEvent.Group. It bounds the cost of accounting.
const MaxGroup = 256

// String returns e.g. "gaussian(sensitivity 1, scale 2) on Poisson batches of rate 0.01 (add/remove) x 1".
// For a group, "8 of one owner" follows the rate.
func (e PoissonEvent) String() string {
	group := ""
	if e.group() > 1 {
		group = fmt.Sprintf(", %d of one owner", e.Group)
	}
	if e.Replaced > 0 {
		group += fmt.Sprintf(", %.6g when replaced", e.Replaced)
	}
	return fmt.Sprintf("%v on Poisson batches of rate %.6g%s (%s) x 1", textOf(e.Event), e.Rate, group, e.Relation)
}

// group returns Group, or 1 if Group is 0.
func (e PoissonEvent) group() int { return max(1, e.Group) }

// KnownSensitivity returns an upper bound on how far the query moves under ReplaceOne if all records of
// the owner are in the batch.
func (e PoissonEvent) KnownSensitivity() float64 {
	n, err := noiseOf("a Poisson event", e.Event)
	if err != nil {
		return math.Inf(1)
	}
	return round.Up(float64(e.group())*e.replaced(n), 1)
}

// replaced returns Replaced, or two sensitivities if Replaced is 0.
func (e PoissonEvent) replaced(n noise) float64 {
	if e.Replaced == 0 {
		return 2 * n.sensitivity
	}
	return e.Replaced
}

func (e PoissonEvent) validate() error {
	n, err := noiseOf("a Poisson event", e.Event)
	switch {
	case err != nil:
		return err
	case !(e.Rate > 0 && e.Rate <= 1):
		return fmt.Errorf("account: the rate of a Poisson event is %v, but must be in (0, 1]", e.Rate)
	case e.Group < 0 || e.Group > MaxGroup:
		return fmt.Errorf("account: an owner has %d records in a Poisson event, but must have 1 to %d", e.Group, MaxGroup)
	case e.Group > 1 && n.law != GaussianLaw:
		return fmt.Errorf("account: a Poisson event with %d records of one owner needs Gaussian noise, not %s",
			e.Group, n.law)
	case e.Replaced != 0 && (n.law != GaussianLaw || e.Relation != ReplaceOne ||
		!(e.Replaced >= n.sensitivity && e.Replaced <= 2*n.sensitivity)):
		return fmt.Errorf("account: PoissonEvent.Replaced is %v; it must be 0, or %v to %v with Gaussian noise and "+
			"ReplaceOne", e.Replaced, n.sensitivity, 2*n.sensitivity)
	}
	return e.Relation.Validate()
}

func (e PoissonEvent) facts() facts {
	n := *e.Event.facts().noise
	f := facts{event: e, count: 1, relation: e.Relation, known: n.law.Event(e.KnownSensitivity(), n.scale)}
	f.sampledBounds(n.law, e.pair)
	if n.law == GaussianLaw && e.Relation == AddRemove && e.group() == 1 {
		f.renyi = func(alpha float64) float64 { return poissonRenyi(alpha, n.ratio(), e.Rate) }
	}
	f.noRenyi = "the Renyi divergence of Poisson batches is known in one case only: Gaussian noise, add/remove, " +
		"one record per owner"
	if e.Relation != ReplaceOne {
		f.barred = "the neighbours must be replace-one"
	}
	return f
}

func (e PoissonEvent) pair() dominatingPair {
	n := e.Event.facts().noise
	d := dominatingPair{law: n.law, kind: removed, m: n.ratio(), q: e.Rate}
	if e.Relation == ReplaceOne {
		d.kind = replaced
	}
	k := e.group()
	if e.Replaced > 0 && (k == 1 || e.Rate == 1) {
		d.kind, d.r = subset, round.Up(float64(k)*round.Up(e.Replaced/n.scale, 1), 1)
	}
	switch {
	case k > 1 && e.Rate == 1:
		d.m = round.Up(d.m*float64(k), 1) // all records of the owner are always in the batch
	case k > 1:
		d.weights, d.logWeights = binomialWeights(k, e.Rate)
	}
	d.r = min(d.r, 2*d.m) // rounding up may exceed 2 d.m
	return d
}

// poissonRecord is the ledger record of a PoissonEvent under ReplaceOne.
type poissonRecord struct {
	Sensitivity float64  `json:"sensitivity"`
	Scale       float64  `json:"scale"`
	Law         NoiseLaw `json:"law"`
	Rate        float64  `json:"rate"`
	Group       int      `json:"group"`
	Replaced    float64  `json:"replaced,omitempty"`
}

func (recorded) Poisson() kind {
	return recordAs("poisson", func(e PoissonEvent) poissonRecord {
		n := e.Event.facts().noise
		return poissonRecord{n.sensitivity, n.scale, n.law, e.Rate, e.group(), e.Replaced}
	}, func(r poissonRecord) Event {
		return PoissonEvent{Event: r.Law.Event(r.Sensitivity, r.Scale), Rate: r.Rate, Relation: ReplaceOne, Group: r.Group,
			Replaced: r.Replaced}
	})
}
