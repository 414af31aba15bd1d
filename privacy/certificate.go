package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// Certificate is a proved bound of how far a released vector can move, in the Euclidean
// norm, when one record is replaced. It is the only number from which noise is scaled
// (docs/theory.md#certificate; docs/theory.md#output-perturbation for vectors that are
// released once). Its fields are unexported: it is built by the constructors of this
// package, from public numbers, and nothing else.
//
// Sections of the book and comments of constructors name the theorems that a machine checks (docs/theory.md#checked-proofs).
// Checked by Coq: Space.sum_over_records, Space.computed_query.
type Certificate struct {
	exact      float64 // sensitivity of the query in real arithmetic, rounded up
	total      float64 // sensitivity of the computed query, rounded up; >= exact
	derivation string  // which theorem, with its numbers
	released   string  // what is released
	manhattan  bool    // the sensitivities are in the L1 norm, for noise of pure epsilon
	length     int     // of the released vector, if manhattan and one release
	form       form    // of the event that noise makes of the query; nil: one release
	theorem    string  // anchor in docs/theory.md, "" if none is stated
	numbers    any     // comparable; what the theorem was applied to
}

// form is what noise makes of a query that is more than one release on all records. The
// values are comparable.
type form interface {
	// gaussian is the event of Gaussian noise, for which one would be a release on its own.
	gaussian(one account.GaussianEvent, m Gaussian) account.Event
}

// stream: the sensitivity is a joint one of at most so many releases. With added it adds
// up, instead of its squares, for noise of pure epsilon.
type stream struct {
	releases int
	added    bool
}

func (f stream) gaussian(one account.GaussianEvent, _ Gaussian) account.Event {
	return account.StreamEvent{Sensitivity: one.Sensitivity, Sigma: one.Sigma, Count: f.releases}
}

// batch: the query is about a secret batch of the records, as was asked of Sample, with rate
// 0, or of SamplePoisson, with size 0.
type batch struct {
	size, records int
	rate          float64
}

// subsetOf: the batch is drawn without replacement.
type subsetOf struct{ batch }

func (f subsetOf) gaussian(one account.GaussianEvent, _ Gaussian) account.Event {
	return account.WithoutReplacementEvent{Event: one, Batch: f.size, Records: f.records}
}

// poissonOf: a Poisson batch; one owner contributes at most group of its records. The
// sensitivity holds for one added record; the relation of the event is ReplaceOne. replaced
// bounds the move of the query when a record is replaced; 0 means twice the sensitivity.
type poissonOf struct {
	batch
	group    int
	replaced float64
}

func (f poissonOf) gaussian(one account.GaussianEvent, _ Gaussian) account.Event {
	return account.PoissonEvent{Event: one, Rate: f.rate, Relation: account.ReplaceOne, Group: f.group, Replaced: f.replaced}
}

// Manhattan reports whether the sensitivity is in the L1 norm. That of other certificates is in the L2 norm.
func (c Certificate) Manhattan() bool { return c.manhattan }

// Sensitivity is the replace-one L2 sensitivity of the computed query, floating
// point errors on both sides included. Noise is scaled to it.
func (c Certificate) Sensitivity() float64 { return c.total }

// ExactSensitivity is the sensitivity in real arithmetic.
func (c Certificate) ExactSensitivity() float64 { return c.exact }

// RoundoffShare is the part of Sensitivity that pays for floating point, in [0, 1).
func (c Certificate) RoundoffShare() float64 {
	if c.total == 0 {
		return 0
	}
	return (c.total - c.exact) / c.total
}

// Releases is the largest number of releases that share the sensitivity (see
// StreamEvent), or 0 if the certificate is about one release.
func (c Certificate) Releases() int {
	f, _ := c.form.(stream)
	return f.releases
}

// HiddenSteps is the number of noisy steps when only the last is released (see
// ConvergentEvent), or 0 if the certificate is about a release of another kind.
func (c Certificate) HiddenSteps() int { return c.hidden().steps }

func (c Certificate) hidden() hiddenSteps {
	f, _ := c.form.(hiddenSteps)
	return f
}

// Batch returns the sizes of a batch and of the whole data set if the certificate is
// about a query of a batch drawn without replacement, else 0, 0.
func (c Certificate) Batch() (size, records int) {
	f, _ := c.form.(subsetOf)
	return f.size, f.records
}

// Poisson returns the rate of the batches, and of how many records they are drawn, if the
// certificate is about a query of a Poisson batch, else 0, 0.
func (c Certificate) Poisson() (rate float64, records int) {
	f, _ := c.form.(poissonOf)
	return f.rate, f.records
}

// sampled returns the batch that the certificate is about, if it is about a secret one.
func (c Certificate) sampled() (batch, bool) {
	switch f := c.form.(type) {
	case subsetOf:
		return f.batch, true
	case poissonOf:
		return f.batch, true
	}
	return batch{}, false
}

// added reports whether the sensitivity is a sum over a stream.
func (c Certificate) added() bool {
	f, _ := c.form.(stream)
	return f.added
}

// joint reports whether the sensitivities cover several noises together, as sums of
// squares: they are in the L2 norm and hold for Gaussian noise only.
func (c Certificate) joint() bool {
	return c.Releases() > 0 && !c.added() || c.HiddenSteps() > 0
}

// gaussianOnly reports whether the certificate grants no pure epsilon: a joint L2 bound says nothing
// about it, and the sensitivity of a Poisson batch holds for one added record, where up to 2 group
// of them are exchanged.
func (c Certificate) gaussianOnly() bool {
	_, poisson := c.form.(poissonOf)
	return poisson || c.joint()
}

// pureEvent is one release, or all of a stream, of noise that is (s/scale)-DP for a
// query that moves by at most s.
func (c Certificate) pureEvent(sensitivity, scale float64) account.Event {
	if c.added() {
		return account.PureStreamEvent{Epsilon: round.Up(sensitivity/scale, 1), Count: c.Releases()}
	}
	return account.PureEvent{Epsilon: round.Up(sensitivity/scale, 1)}
}

// Statement is the theorem of the certificate, an anchor of docs/theory.md, and the public numbers
// that it was applied to, for those who compute it again: a value of the constructor's type. Its JSON,
// which is part of model files (docs/formats.md), has those that do not follow from the rest of a
// plan. It is "" and nil for certificates without one.
func (c Certificate) Statement() (theorem string, numbers any) { return c.theorem, c.numbers }

// stated adds the statement; numbers are comparable.
func stated(theorem string, numbers any, c Certificate, err error) (Certificate, error) {
	if err == nil && numbers != nil {
		c.theorem, c.numbers = theorem, numbers
	}
	return c, err
}

// Derivation names the theorem and the numbers put into it.
func (c Certificate) Derivation() string { return c.derivation }

// Released says which vector the certificate is about.
func (c Certificate) Released() string { return c.released }

// IsZero reports whether the certificate was not built by a constructor.
func (c Certificate) IsZero() bool { return c == Certificate{} }

// Equal reports whether two certificates state the same bound for the same reason.
func (c Certificate) Equal(o Certificate) bool { return c == o }

func newCertificate(exact, total float64, released, derivation string) (Certificate, error) {
	if !(exact > 0) || !(total >= exact) || math.IsInf(total, 0) {
		return Certificate{}, fmt.Errorf("privacy: certificate of %s is %v (exact) and %v (computed), want positive finite numbers: a step size, bound or constant overflows or is zero", released, exact, total)
	}
	return Certificate{exact: exact, total: total, derivation: derivation, released: released}, nil
}

var errCertificate = errors.New("privacy: certificate")

func positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%w: %s is %v, must be positive and finite", errCertificate, name, v)
	}
	return nil
}

func nonNegative(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%w: %s is %v, must be finite and not negative", errCertificate, name, v)
	}
	return nil
}
