package must

import (
	"fmt"
	"math"
	"reflect"
	"testing"
)

// All is a want of Fail and FailDo: the error must match each of its elements.
type All []any

// Equal reports an error of the test unless got is want. The text of the report is what, formatted with args, and then
// both values.
func Equal[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

// Same is Equal for slices and other values that are equal if reflect.DeepEqual says so.
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
