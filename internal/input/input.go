// Package input marks errors about the input of a program or a function. The input is a file, a schema, an
// option, or a plan that cannot be carried out. The message of such an error is sufficient to correct the
// input. The error occurs before any charge or change.
package input

import (
	"errors"
	"fmt"
)

// Err is the target with which errors.Is finds every marked error.
var Err = errors.New("the input cannot be used")

// marked is an error that is marked as an error of the user's input. It has the message of the error that it wraps.
type marked struct{ error }

// Unwrap returns the error without the mark.
func (e marked) Unwrap() error { return e.error }

// Is reports whether target is Err.
func (e marked) Is(target error) bool { return target == Err }

// Errorf is fmt.Errorf with the mark.
func Errorf(format string, args ...any) error { return marked{fmt.Errorf(format, args...)} }

// As marks err. nil stays nil.
func As(err error) error {
	if err == nil {
		return nil
	}
	return marked{err}
}
