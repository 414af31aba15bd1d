package must

import (
	"errors"
	"fmt"
	"testing"
)

// ended is a test that notes that it has ended.
type ended struct {
	testing.TB
	said []any
}

func (e *ended) Helper()           {}
func (e *ended) Fatal(said ...any) { e.said = append(e.said, said...) }

func (e *ended) Errorf(_ string, said ...any) { e.said = append(e.said, said...) }

// An error ends the test once, with its text; values without one are handed on.
func TestErrorsEndTheTest(t *testing.T) {
	failed := errors.New("failed")
	for name, use := range map[string]func(t testing.TB, err error){
		"Do":   func(t testing.TB, err error) { Do(t, err) },
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

// What has to fail is reported unless it fails with the text or the error that is wanted.
func TestWhatDoesNotFailIsReported(t *testing.T) {
	failed := errors.New("the disk is full")
	for _, c := range []struct {
		err, want any
		reported  bool
	}{
		{failed, failed, false}, {fmt.Errorf("written: %w", failed), failed, false}, {failed, "disk", false}, {failed, "", false},
		{nil, failed, true}, {nil, "", true}, {errors.New("the disk is full"), failed, true}, {failed, "tape", true}, {failed, nil, true},
	} {
		e := &ended{TB: t}
		err, _ := c.err.(error)
		Fail(1, err)(e, c.want, "a case")
		happened := &ended{TB: t}
		if Err(1, err)(happened, "it did not fail: %d", 1); len(happened.said) > 0 != (err == nil) {
			t.Errorf("%v: said %v", c.err, happened.said)
		}
		checked := &ended{TB: t}
		if Check(1, err)(checked, "a case"); len(checked.said) > 0 != (err != nil) {
			t.Errorf("%v: said %v", c.err, checked.said)
		}
		contained := &ended{TB: t}
		if Contain(contained, "the disk is full", "disk", fmt.Sprint(c.want)); len(contained.said) > 0 != (c.want == "tape" || c.want == nil) {
			t.Errorf("%v: said %v", c.want, contained.said)
		}
		if len(e.said) > 0 != c.reported {
			t.Errorf("%v, want %v: said %v", c.err, c.want, e.said)
		}
	}
}
