package must

import (
	"errors"
	"testing"
)

// ended is a test that notes that it has ended.
type ended struct {
	testing.TB
	said []any
}

func (e *ended) Helper()           {}
func (e *ended) Fatal(said ...any) { e.said = append(e.said, said...) }

// An error ends the test once, with its text; values without one are handed on.
func TestErrorsEndTheTest(t *testing.T) {
	failed := errors.New("failed")
	for name, use := range map[string]func(t testing.TB, err error){
		"Do":   Do,
		"Get":  func(t testing.TB, err error) { Get(1, err)(t) },
		"Get2": func(t testing.TB, err error) { Get2(1, "a", err)(t) },
	} {
		e := &ended{TB: t}
		if use(e, nil); len(e.said) != 0 {
			t.Errorf("%s ends a test without an error", name)
		}
		if use(e, failed); len(e.said) != 1 || e.said[0] != failed {
			t.Errorf("%s says %v of an error", name, e.said)
		}
	}
	a, b := Get2(1, "a", nil)(t)
	if got := Get(2, nil)(t); got != 2 || a != 1 || b != "a" {
		t.Errorf("handed on %d, %d and %q", got, a, b)
	}
}
