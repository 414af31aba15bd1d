package sizes

import (
	"os"
	"testing"
)

// Full reports whether tests run at full power. They do if the environment variable DYAD_FULL is set, as in
// .ci/nightly. If it is not set, a statistical test draws a tenth of its samples, and a table of cases has fewer
// cases. The tests must find the same defects in both modes.
func Full() bool { return os.Getenv("DYAD_FULL") != "" }

// Of returns full at full power and ordinary otherwise.
func Of[T any](ordinary, full T) T {
	if Full() {
		return full
	}
	return ordinary
}

// Trials returns the number of samples of a statistical test: n at full power, and a tenth of n, rounded up, otherwise.
func Trials(n int) int { return Of((n+9)/10, n) }

// NotShort skips a test if the tests are run with -short. The argument `why` is the reason.
func NotShort(t testing.TB, why string) {
	if testing.Short() {
		t.Helper()
		t.Skip(why)
	}
}
