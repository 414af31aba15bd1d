// Package input marks errors about what somebody gave a program or a function: a file, a
// schema, an option, a plan that cannot be honoured. Such an error needs no further search,
// and it comes before any charge or change.
package input

import (
	"errors"
	"fmt"
)

// Err is what every marked error is.
var Err = errors.New("the input cannot be used")

// Error is a marked error, with the message of the error that it wraps.
type Error struct{ error }

// Unwrap returns the error without the mark.
func (e Error) Unwrap() error { return e.error }

// Is reports whether Err is meant.
func (e Error) Is(target error) bool { return target == Err }

// Errorf is fmt.Errorf with the mark.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// As marks err; nil stays nil.
func As(err error) error {
	if err == nil {
		return nil
	}
	return Error{err}
}
