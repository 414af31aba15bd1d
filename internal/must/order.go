package must

import (
	"cmp"
	"fmt"
	"testing"
)

// AtMost reports an error of the test unless got <= most. NaN is not at most anything.
func AtMost[T cmp.Ordered](t testing.TB, got, most T, what string, args ...any) {
	if !(got <= most) {
		t.Helper()
		t.Errorf("%s: %v, want at most %v", fmt.Sprintf(what, args...), got, most)
	}
}

// AtLeast reports an error of the test unless got >= least.
func AtLeast[T cmp.Ordered](t testing.TB, got, least T, what string, args ...any) {
	if !(got >= least) {
		t.Helper()
		t.Errorf("%s: %v, want at least %v", fmt.Sprintf(what, args...), got, least)
	}
}

// Above reports an error of the test unless got > limit.
func Above[T cmp.Ordered](t testing.TB, got, limit T, what string, args ...any) {
	if !(got > limit) {
		t.Helper()
		t.Errorf("%s: %v, want more than %v", fmt.Sprintf(what, args...), got, limit)
	}
}

// Below reports an error of the test unless got < limit.
func Below[T cmp.Ordered](t testing.TB, got, limit T, what string, args ...any) {
	if !(got < limit) {
		t.Helper()
		t.Errorf("%s: %v, want less than %v", fmt.Sprintf(what, args...), got, limit)
	}
}
