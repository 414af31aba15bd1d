package autodiff

import (
	"errors"
	"fmt"
)

// What Function.Check found; a CheckError wraps one of them.
var (
	// ErrNotFinite: phi or phi' is NaN or infinite.
	ErrNotFinite = errors.New("phi or its derivative is not finite")
	// ErrGradientsDisagree: DPhi differs from Phi.Derivative().
	ErrGradientsDisagree = errors.New("the derivative that comes with phi differs from our own differentiation")
	// ErrDifferenceDisagrees: phi' differs from differences of phi.
	ErrDifferenceDisagrees = errors.New("the derivative differs from differences of phi")
	// ErrDiscontinuous: phi jumps, so it has no Lipschitz constant.
	ErrDiscontinuous = errors.New("phi jumps")
	// ErrUnresolved: differences of phi do not converge, so phi' cannot be
	// checked there.
	ErrUnresolved = errors.New("phi varies too fast to check its derivative")
)

// CheckError says where a Function failed its gate.
type CheckError struct {
	// Reason is one of the Err values of this package.
	Reason error
	// U is the smallest checked point at which Reason holds.
	U float64
	// Got and Want are the two values that differ: for ErrNotFinite the values
	// of phi and phi', for ErrDiscontinuous phi on both sides of U, otherwise
	// the derivative and the value that it was compared with.
	Got, Want float64
}

// Error names the reason, the point and both values.
func (e *CheckError) Error() string {
	return fmt.Sprintf("autodiff: %v at u = %g (%g and %g)", e.Reason, e.U, e.Got, e.Want)
}

// Unwrap returns the reason.
func (e *CheckError) Unwrap() error { return e.Reason }
