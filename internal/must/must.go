// Package must ends a test at an unexpected error. For example, Get(f())(t) returns the value of f or ends the test.
package must

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Do ends the test if err is not nil. The arguments `what` describe the case. If err is nil, Do does not use t,
// as fuzz targets require.
func Do(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Fatal(append(what, err)...)
	}
}

// Get returns a function that ends the test if err is not nil, and returns v otherwise.
func Get[T any](v T, err error) func(t testing.TB, what ...any) T {
	return func(t testing.TB, what ...any) T {
		if err != nil {
			t.Helper()
			t.Fatal(append(what, err)...)
		}
		return v
	}
}

// Get2 is Get for two values.
func Get2[A, B any](a A, b B, err error) func(t testing.TB, what ...any) (A, B) {
	return func(t testing.TB, what ...any) (A, B) {
		if err != nil {
			t.Helper()
			t.Fatal(append(what, err)...)
		}
		return a, b
	}
}

// FailDo reports an error of the test unless err matches want. If want is a text, err must contain it. If
// want is an error, err must wrap it. If want is All, err must match each of its elements.
func FailDo(t testing.TB, err error, want any, what ...any) {
	if all, ok := want.(All); ok {
		t.Helper()
		for _, each := range all {
			FailDo(t, err, each, what...)
		}
		return
	}
	says, isText := want.(string)
	if target, _ := want.(error); err == nil || isText && !strings.Contains(err.Error(), says) ||
		!isText && !errors.Is(err, target) {
		t.Helper()
		t.Errorf("%s: error %v, want %q", fmt.Sprint(what...), err, want)
	}
}

// Fail is FailDo for the results of a function that returns a value and an error.
func Fail[T any](_ T, err error) func(t testing.TB, want any, what ...any) {
	return func(t testing.TB, want any, what ...any) {
		t.Helper()
		FailDo(t, err, want, what...)
	}
}

// ErrDo reports an error of the test if err is nil. The text of the report is fmt.Sprintf(what, args...).
func ErrDo(t testing.TB, err error, what string, args ...any) {
	if err == nil {
		t.Helper()
		t.Errorf(what, args...)
	}
}

// Err is ErrDo for the results of a function that returns a value and an error.
func Err[T any](_ T, err error) func(t testing.TB, what string, args ...any) {
	return func(t testing.TB, what string, args ...any) {
		t.Helper()
		ErrDo(t, err, what, args...)
	}
}

// CheckDo reports err if it is not nil, and the test continues. The arguments `what` describe the case.
func CheckDo(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Errorf("%s: %v", fmt.Sprint(what...), err)
	}
}

// Check is CheckDo for the results of a function that returns a value and an error.
func Check[T any](_ T, err error) func(t testing.TB, what ...any) {
	return func(t testing.TB, what ...any) {
		if err != nil {
			t.Helper()
			CheckDo(t, err, what...)
		}
	}
}

// Contain reports an error for each of the wants that text does not contain. The test continues.
func Contain(t testing.TB, text string, wants ...string) {
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Helper()
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
