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
type Certificate struct {
	exact      float64 // sensitivity of the query in real arithmetic, rounded up
	total      float64 // sensitivity of the computed query, rounded up; >= exact
	derivation string  // which theorem, with its numbers
	released   string  // what is released
	// releases > 0: the sensitivities are joint ones of a StreamEvent of at most
	// that many releases.
	releases int
	// added: the joint sensitivities add up, instead of their squares; manhattan: they
	// are in the L1 norm. Both serve noise of pure epsilon.
	added, manhattan bool
	// hidden.steps > 0: the sensitivities are joint ones of a ConvergentEvent.
	hidden hiddenSteps
	// batch > 0: the query is about batches of that many of records records, and its
	// noise is a release of a WithoutReplacementEvent.
	batch, records int
	// rate > 0: the query is about Poisson batches of that rate of records records, of
	// which one owner has at most group; the sensitivity is that of one record added, and
	// the noise is a release of a PoissonEvent under ReplaceOne.
	rate  float64
	group int
}

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
func (c Certificate) Releases() int { return c.releases }

// HiddenSteps is the number of noisy steps of which only the last is released (see
// ConvergentEvent), or 0 if the certificate is about a release of another kind.
func (c Certificate) HiddenSteps() int { return c.hidden.steps }

// Batch returns the sizes of a batch and of the whole data set if the certificate is
// about a query of a batch drawn without replacement, else 0, 0.
func (c Certificate) Batch() (batch, records int) { return c.batch, c.records }

// Poisson returns the rate of the batches, and of how many records they are drawn, if the
// certificate is about a query of a Poisson batch, else 0, 0.
func (c Certificate) Poisson() (rate float64, records int) {
	if c.rate == 0 {
		return 0, 0
	}
	return c.rate, c.records
}

// sampled says that the certificate is about secret batches.
func (c Certificate) sampled() bool { return c.batch > 0 || c.rate > 0 }

// joint says that the sensitivities are those of several noises together, as sums of
// squares: they are in the L2 norm and about Gaussian noise only.
func (c Certificate) joint() bool { return c.releases > 0 && !c.added || c.hidden.steps > 0 }

// gaussianOnly says that the certificate grants no pure epsilon: a joint L2 bound says nothing
// about it, and the sensitivity of a Poisson batch is that of one record added, where up to
// 2 group of them are exchanged.
func (c Certificate) gaussianOnly() bool { return c.joint() || c.rate > 0 }

// pureEvent is one release, or all of a stream, of noise that is (s/scale)-DP for a
// query that moves by at most s.
func (c Certificate) pureEvent(sensitivity, scale float64) account.Event {
	if c.added {
		return account.PureStreamEvent{Epsilon: round.Up(sensitivity/scale, 1), Count: c.releases}
	}
	return account.PureEvent{Epsilon: round.Up(sensitivity/scale, 1)}
}

// Derivation names the theorem and the numbers put into it.
func (c Certificate) Derivation() string { return c.derivation }

// Released says which vector the certificate is about.
func (c Certificate) Released() string { return c.released }

// IsZero says that the certificate was not built by a constructor.
func (c Certificate) IsZero() bool { return c == Certificate{} }

// Equal says that two certificates state the same bound for the same reason.
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
