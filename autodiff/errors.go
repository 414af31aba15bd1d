package autodiff

import (
	"errors"
	"fmt"
)

// The faults that Function.Check finds; a CheckError wraps one of them.
var (
	// ErrNotFinite means that phi or phi' is NaN or infinite.
	ErrNotFinite = errors.New("the loss phi or its derivative is not finite")
	// ErrGradientsDisagree means that DPhi differs from Phi.Derivative().
	ErrGradientsDisagree = errors.New("the given derivative differs from the derivative that Dyad computes")
	// ErrDifferenceDisagrees means that phi' differs from difference quotients of phi.
	ErrDifferenceDisagrees = errors.New("the derivative of the loss phi differs from difference quotients of phi")
	// ErrDiscontinuous means that phi jumps, so that it has no Lipschitz constant.
	ErrDiscontinuous = errors.New("phi jumps")
	// ErrUnresolved means that difference quotients of phi do not converge, so that phi' cannot be
	// checked there.
	ErrUnresolved = errors.New("phi varies too fast to check its derivative")
)

// CheckError is the error of a Function that failed Check.
type CheckError struct {
	// Reason is one of the Err values of this package.
	Reason error
	// U is the smallest checked point at which Reason holds.
	U float64
	// Got and Want are the two values that differ. For ErrNotFinite they are the values of phi and
	// phi', and for ErrDiscontinuous the values of phi on both sides of U. Otherwise they are the
	// derivative and the value that it was compared with.
	Got, Want float64
}

// Error returns a text with the reason, the point and both values.
func (e *CheckError) Error() string {
	return fmt.Sprintf("autodiff: %v at u = %g (%g and %g)", e.Reason, e.U, e.Got, e.Want)
}

// Unwrap returns the reason.
func (e *CheckError) Unwrap() error { return e.Reason }
