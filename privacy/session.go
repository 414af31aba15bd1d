package privacy

import "errors"

// ErrUnplanned is wrapped by the error of a release that the charged plan does not contain or no longer
// contains.
var ErrUnplanned = errors.New("privacy: the charged plan does not allow this release")

// Session is the only source of randomness of an algorithm, and the only way in which an algorithm may
// release results. The result of an algorithm may depend on the data only through released vectors.
type Session interface {
	// Permutation returns a uniformly random order of 0..n-1. The order is secret and independent of the
	// data.
	Permutation(n int) []int32
	// UniformBall sets dst to a uniformly random point of the centred ball with the given radius. The point
	// is independent of the data.
	UniformBall(dst []float64, radius float64)
	// Sample moves a uniformly random set of m entries of order to its front, in random order. Its random
	// bits are secret and independent of the data and of all earlier random bits. If order is a permutation
	// of the records, Sample draws a batch without replacement. It returns an error unless 0 < m <=
	// len(order) < 2^31.
	Sample(order []int32, m int) error
	// SamplePoisson draws a Poisson batch from 0..n-1 and appends its members to dst[:0], in order. Each
	// number enters the batch with probability rate, independently of the other numbers. The random bits are
	// secret and independent of the data and of all earlier random bits. It returns an error unless 0 < rate
	// <= 1 and 0 < n < 2^31.
	SamplePoisson(dst []int32, n int, rate float64) ([]int32, error)
	// HiddenStep makes a step of a state that stays secret, for a certificate with HiddenSteps. It rounds x
	// to the grid of m and adds noise, in place. Every step except the last is a call of HiddenStep. The last
	// step is a call of Release, which rounds in the same way. Nothing that depends on the state may leave
	// the algorithm before the call of Release. Errors, and their effects on x, are as for Release.
	HiddenStep(x []float64, c Certificate, m Mechanism) error
	// Release replaces x by x + noise, in place, so that the exact value is gone afterwards. On any error,
	// Release sets x to zero. The error wraps ErrUnplanned if the release was not planned, or if all planned
	// releases of its kind were made already. It also wraps ErrUnplanned if m is not one of the mechanisms of
	// this package (as a value, not a pointer). A release about a batch must follow a Sample of its size, or
	// a SamplePoisson of its rate, with no other release in between.
	Release(x []float64, c Certificate, m Mechanism) error
	// ReleaseExact releases x without noise. It is for the non-private baseline and for public data. In any
	// other session, it sets x to zero and returns an error that wraps ErrUnplanned.
	ReleaseExact(x []float64) error
	// Choose returns the index of one of the scores by an epsilon-DP choice. A larger score has a larger
	// probability. When one record is replaced, each score moves by at most the sensitivity of c, rounded up
	// to an integer. The argument epsilon is a value of ChoiceEpsilon. The plan must contain
	// PureEvent{epsilon} or BoundedRangeEvent{epsilon}; the planned event selects the mechanism of the
	// choice.
	Choose(scores []int64, c Certificate, epsilon float64) (int, error)
	// Best makes runs of uniformly drawn candidates, each with a session of its own. It returns the candidate
	// and the vector of the best run among a secret number of runs (docs/theory.md#random-stopping). The
	// first number of a vector is its score.
	//
	// The result of a run depends on the records only through releases of the run's session. Nothing else
	// that depends on releases leaves a run: no progress, log, time or checkpoint. An error of a run ends the
	// selection, so the error must not depend on releases. An error that does depend on releases must wrap
	// ErrFailedRun; it does not end the selection. The session must not be used for anything else in the
	// meantime.
	Best(x Selection, run func(candidate int, s Session) ([]float64, error)) (candidate int, released []float64, err error)
}
