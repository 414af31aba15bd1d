package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
)

// Certificate is a proved upper bound on the sensitivity of a released vector. The sensitivity is how far
// the vector can move, in the Euclidean norm, when one record is replaced. If Manhattan reports true, the L1
// norm is used instead. Noise is scaled only to this bound (docs/theory.md#certificate;
// docs/theory.md#output-perturbation for vectors that are released once). The fields are unexported, because
// only the constructors of this package build certificates, and they use only public numbers.
//
// Comments of constructors and sections of docs/theory.md name the theorems whose proofs Coq has checked
// (docs/theory.md#checked-proofs).
// Checked by Coq: Space.sum_over_records, Space.computed_query.
type Certificate struct {
	exact      float64 // sensitivity of the query in real arithmetic, rounded up
	total      float64 // sensitivity of the computed query, rounded up; >= exact
	derivation string  // name of the theorem, with the numbers put into it
	released   string  // description of the released vector
	manhattan  bool    // the sensitivities are in the L1 norm, for noise of pure epsilon
	length     int     // length of the released vector; set for one release in the L1 norm
	form       form    // form of the event that noise produces; nil means one release on all records
	theorem    string  // anchor in docs/theory.md, or "" if no theorem is stated
	numbers    any     // comparable; the numbers that the theorem was applied to
}

// form is the form of a query that is not a single release on all records. Its values are comparable.
type form interface {
	// gaussian returns the event of Gaussian noise m. The argument one is the event of a single release.
	gaussian(one account.GaussianEvent, m Gaussian) account.Event
}

// stream is the form of a joint sensitivity of at most releases releases. If added is true, the sensitivities
// of the releases add up, for noise of pure epsilon. Otherwise their squares add up.
type stream struct {
	releases int
	added    bool
}

func (f stream) gaussian(one account.GaussianEvent, _ Gaussian) account.Event {
	return account.StreamEvent{Sensitivity: one.Sensitivity, Sigma: one.Sigma, Count: f.releases}
}

// batch is a secret batch of the records. A batch of Sample has rate 0, and a batch of SamplePoisson has size
// 0.
type batch struct {
	size, records int
	rate          float64
}

// subsetOf is the form of a query about a batch drawn without replacement.
type subsetOf struct{ batch }

func (f subsetOf) gaussian(one account.GaussianEvent, _ Gaussian) account.Event {
	return account.WithoutReplacementEvent{Event: one, Batch: f.size, Records: f.records}
}

// poissonOf is the form of a query about a Poisson batch. One owner contributes at most group of its records.
// The sensitivity holds for one added record, although the relation of the event is ReplaceOne. The field
// replaced bounds the move of the query when one record is replaced; 0 means twice the sensitivity.
type poissonOf struct {
	batch
	group    int
	replaced float64
}

func (f poissonOf) gaussian(one account.GaussianEvent, _ Gaussian) account.Event {
	return account.PoissonEvent{Event: one, Rate: f.rate, Relation: account.ReplaceOne, Group: f.group,
		Replaced: f.replaced}
}

// Manhattan reports whether the sensitivity is in the L1 norm. Otherwise it is in the L2 norm.
func (c Certificate) Manhattan() bool { return c.manhattan }

// Sensitivity returns the sensitivity of the computed query when one record is replaced, in the L2 norm
// unless Manhattan reports true. For Poisson batches it returns the sensitivity when one record is added.
// The number includes the floating-point errors on both data sets. Noise is scaled to this number.
func (c Certificate) Sensitivity() float64 { return c.total }

// ExactSensitivity is the sensitivity of the query in real arithmetic, without floating-point errors.
func (c Certificate) ExactSensitivity() float64 { return c.exact }

// RoundoffShare is the fraction of Sensitivity that covers floating-point errors, in [0, 1).
func (c Certificate) RoundoffShare() float64 {
	if c.total == 0 {
		return 0
	}
	return (c.total - c.exact) / c.total
}

// Releases is the largest number of releases that share the sensitivity (see StreamEvent). It is 0 if the
// certificate is not the joint certificate of a stream.
func (c Certificate) Releases() int {
	f, _ := c.form.(stream)
	return f.releases
}

// HiddenSteps returns the number of noisy steps of a computation that releases only its last state (see
// ConvergentEvent). It is 0 if the certificate is about a release of another kind.
func (c Certificate) HiddenSteps() int { return c.hidden().steps }

func (c Certificate) hidden() hiddenSteps {
	f, _ := c.form.(hiddenSteps)
	return f
}

// Batch returns the size of a batch and the number of records of the whole data set if the certificate is
// about a query on a batch drawn without replacement. Otherwise it returns 0, 0.
func (c Certificate) Batch() (size, records int) {
	f, _ := c.form.(subsetOf)
	return f.size, f.records
}

// Poisson returns the sampling rate and the number of records that batches are drawn from if the certificate
// is about a query on a Poisson batch. Otherwise it returns 0, 0.
func (c Certificate) Poisson() (rate float64, records int) {
	f, _ := c.form.(poissonOf)
	return f.rate, f.records
}

// sampled returns the batch that the certificate is about. It returns false if the certificate is not about a
// secret batch.
func (c Certificate) sampled() (batch, bool) {
	switch f := c.form.(type) {
	case subsetOf:
		return f.batch, true
	case poissonOf:
		return f.batch, true
	}
	return batch{}, false
}

// added reports whether the sensitivity is a sum of the sensitivities of a stream.
func (c Certificate) added() bool {
	f, _ := c.form.(stream)
	return f.added
}

// joint reports whether the sensitivity covers several noise vectors together, as a sum of squares. Such a
// sensitivity is in the L2 norm and holds for Gaussian noise only.
func (c Certificate) joint() bool {
	return c.Releases() > 0 && !c.added() || c.HiddenSteps() > 0
}

// gaussianOnly reports whether the certificate excludes noise of pure epsilon. A joint L2 bound implies no
// pure epsilon. The sensitivity of a Poisson batch holds for one added record, but neighbours can exchange up
// to 2 group records.
func (c Certificate) gaussianOnly() bool {
	_, poisson := c.form.(poissonOf)
	return poisson || c.joint()
}

// pureEvent is the event of one release, or of all releases of a stream, with noise of the given scale. With
// this noise, a query that moves by at most s is (s/scale)-DP.
func (c Certificate) pureEvent(sensitivity, scale float64) account.Event {
	if c.added() {
		return account.PureStreamEvent{Epsilon: round.Up(sensitivity/scale, 1), Count: c.Releases()}
	}
	return account.PureEvent{Epsilon: round.Up(sensitivity/scale, 1)}
}

// Statement returns the theorem behind the certificate, as an anchor of docs/theory.md, and the public
// numbers to which it was applied, so that a reader can compute the certificate again. The numbers are a
// struct, whose JSON encoding is part of model files (docs/formats.md). It omits the numbers that follow from
// the other parts of a plan. If c has no stated theorem, Statement returns "" and nil.
func (c Certificate) Statement() (theorem string, numbers any) { return c.theorem, c.numbers }

// stated adds the statement to c. The numbers must be comparable.
func stated(theorem string, numbers any, c Certificate, err error) (Certificate, error) {
	if err == nil && numbers != nil {
		c.theorem, c.numbers = theorem, numbers
	}
	return c, err
}

// Derivation returns a text that names the theorem and the numbers that the theorem was applied to.
func (c Certificate) Derivation() string { return c.derivation }

// Released describes the vector that the certificate is about.
func (c Certificate) Released() string { return c.released }

// IsZero reports whether the certificate was not built by a constructor.
func (c Certificate) IsZero() bool { return c == Certificate{} }

// Equal reports whether two certificates state the same bound for the same reason.
func (c Certificate) Equal(o Certificate) bool { return c == o }

func newCertificate(exact, total float64, released, derivation string) (Certificate, error) {
	if !(exact > 0) || !(total >= exact) || math.IsInf(total, 0) {
		return Certificate{}, fmt.Errorf("privacy: the sensitivity of %s is %v (%v with rounding errors), want "+
			"positive and finite; check step size, bounds and constants",
			released, exact, total)
	}
	return Certificate{exact: exact, total: total, derivation: derivation, released: released}, nil
}

var errCertificate = errors.New("privacy: certificate")

// refuse returns an error if a number of a certificate is bad.
func refuse(bad bool, format string, args ...any) error {
	if bad {
		return fmt.Errorf("%w: "+format, append([]any{errCertificate}, args...)...)
	}
	return nil
}

func positive(name string, v float64) error {
	return refuse(!(v > 0) || math.IsInf(v, 0), "%s is %v, must be positive and finite", name, v)
}

func nonNegative(name string, v float64) error {
	return refuse(!(v >= 0) || math.IsInf(v, 0), "%s is %v, must be finite and not negative", name, v)
}
