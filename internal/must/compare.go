package must

import (
	"fmt"
	"math"
	"reflect"
	"testing"
)

// All is a value for the argument want of Fail and FailDo. The error must match each element of All.
type All []any

// Equal reports an error of the test unless got equals want. The error begins with the text `what`, formatted with
// args, and states both values.
func Equal[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

// Same is like Equal, but compares with reflect.DeepEqual. It can compare slices, for example.
func Same[T any](t testing.TB, got, want T, what string, args ...any) {
	if !reflect.DeepEqual(got, want) {
		t.Helper()
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

// Within reports an error of the test unless least <= got <= most. NaN is not within any bounds.
func Within(t testing.TB, got, least, most float64, what string, args ...any) {
	if !(got >= least && got <= most) {
		t.Helper()
		t.Errorf("%s: %v, want %v to %v", fmt.Sprintf(what, args...), got, least, most)
	}
}

// Near reports an error of the test unless |got - want| <= tolerance.
func Near(t testing.TB, got, want, tolerance float64, what string, args ...any) {
	if !(math.Abs(got-want) <= tolerance) {
		t.Helper()
		t.Errorf("%s: %v, want %v up to %v", fmt.Sprintf(what, args...), got, want, tolerance)
	}
}
