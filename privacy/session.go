package privacy

import "errors"

// ErrUnplanned is wrapped when a release was not in the plan that was charged, or
// exceeds it.
var ErrUnplanned = errors.New("privacy: release was not planned and charged")

// Session is an algorithm's only randomness and its only exit. What an algorithm
// returns may depend on the data only through released vectors.
type Session interface {
	// Permutation returns a uniformly random order of 0..n-1, secret and
	// independent of the data.
	Permutation(n int) []int32
	// UniformBall sets dst to a uniformly random point of the centred ball,
	// independent of the data.
	UniformBall(dst []float64, radius float64)
	// Sample moves a uniformly random set of m of the entries of order to its front,
	// in random order, by coins that are secret and independent of the data and of
	// all earlier ones. With order a permutation of the records it draws a batch
	// without replacement. It is an error unless 0 < m <= len(order) < 2^31.
	Sample(order []int32, m int) error
	// SamplePoisson appends to dst[:0] those of 0..n-1, in order, that enter a batch, each
	// with probability rate by a coin of its own, which is secret and independent of the
	// data and of all earlier ones. It is an error unless 0 < rate <= 1 and 0 < n < 2^31.
	SamplePoisson(dst []int32, n int, rate float64) ([]int32, error)
	// HiddenStep makes a step of a state that stays secret, for a certificate with
	// HiddenSteps: it rounds x to the grid of m and adds noise, in place. Every step but
	// the last is a call of HiddenStep, and the last is one of Release, which rounds in
	// the same way. Nothing that depends on the state may leave before. Errors, and their
	// effects on x, are as in Release.
	HiddenStep(x []float64, c Certificate, m Mechanism) error
	// Release replaces x by x + noise, in place: the exact value is gone
	// afterwards. On any error x is zeroed; it wraps ErrUnplanned if the release
	// was not planned, or is one more than planned, or m is not one of the
	// mechanisms of this package (as a value, not a pointer). A release about a batch
	// must follow a Sample of its size, or a SamplePoisson of its rate, with no other release in between.
	Release(x []float64, c Certificate, m Mechanism) error
	// ReleaseExact lets x out without noise. It is for the non-private baseline
	// and for public data: on any other session it returns an error wrapping
	// ErrUnplanned and x is zeroed.
	ReleaseExact(x []float64) error
	// Choose returns the place of one of the scores, the larger the likelier, by an
	// epsilon-DP choice. Each score moves by at most the sensitivity of c, rounded up to an
	// integer; epsilon is a value of ChoiceEpsilon, and PureEvent{epsilon} or BoundedRangeEvent{epsilon} is planned, which
	// decides how it is drawn.
	Choose(scores []int64, c Certificate, epsilon float64) (int, error)
	// Best makes runs of candidates that are drawn uniformly, each with a session of its own,
	// and returns the candidate and the vector of the best of a secret number of them
	// (docs/theory.md#random-stopping). The first number of a vector is its score. What a run
	// returns depends on the records through releases of its session only, and nothing that
	// depends on releases leaves it otherwise: no progress, log, time or checkpoint. An error
	// of a run ends the selection and must not depend on releases; one that does wraps ErrFailedRun. The
	// session is used for nothing else meanwhile.
	Best(x Selection, run func(candidate int, s Session) ([]float64, error)) (candidate int, released []float64, err error)
}
