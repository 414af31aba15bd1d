package account_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// goldenInputs are the parameters of a row. It remembers which of them were read, and
// what is wrong with them.
type goldenInputs struct {
	values map[string]any
	read   map[string]bool
	wrong  *[]error
}

func newGoldenInputs() goldenInputs {
	return goldenInputs{values: map[string]any{}, read: map[string]bool{}, wrong: new([]error)}
}

// require notes a fault unless ok.
func (in goldenInputs) require(ok bool, format string, args ...any) {
	if !ok {
		*in.wrong = append(*in.wrong, fmt.Errorf(format, args...))
	}
}

// faults are the parameters that were not read, and the faults noted.
func (in goldenInputs) faults() error {
	for name := range in.values {
		in.require(in.read[name], "the parameter %s is not read", name)
	}
	slices.SortFunc(*in.wrong, func(a, b error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
	return errors.Join(*in.wrong...)
}

func (in goldenInputs) has(name string) bool { _, ok := in.values[name]; return ok }

// set is a parameter that the test chooses itself.
func (in goldenInputs) set(name string, v any) { in.values[name], in.read[name] = v, true }

// number reads a parameter; the fallback, if there is one, stands for a missing one.
func (in goldenInputs) number(name string, fallback ...float64) float64 {
	in.read[name] = true
	if v, ok := in.values[name].(float64); ok {
		return v
	}
	if !in.has(name) && len(fallback) > 0 {
		return fallback[0]
	}
	in.require(false, "the parameter %s is missing, or no number", name)
	return math.NaN()
}

// one reads the one of several parameters that the row has.
func (in goldenInputs) one(fallback float64, names ...string) float64 {
	found := ""
	for _, name := range names {
		if in.has(name) {
			in.require(found == "", "the row has %s and %s", found, name)
			found = name
		}
	}
	if found == "" {
		return fallback
	}
	return in.number(found)
}

// text reads a parameter, "" if it is missing.
func (in goldenInputs) text(name string) string {
	in.read[name] = true
	s, ok := in.values[name].(string)
	in.require(ok || !in.has(name), "the parameter %s is no text", name)
	return s
}

// flag reads a truth value, false if it is missing.
func (in goldenInputs) flag(name string) bool {
	in.read[name] = true
	b, ok := in.values[name].(bool)
	in.require(ok || !in.has(name), "the parameter %s is no truth value", name)
	return b
}

// whole is a number that must be whole and at least 1.
func (in goldenInputs) whole(name string, v float64) int {
	in.require(v >= 1 && v == math.Trunc(v), "%s is %v, want a whole number", name, v)
	return int(v)
}

// count is the number of releases: T or steps. Epochs of batches are steps too.
func (in goldenInputs) count() int {
	n := in.one(1, "T", "steps")
	if in.has("epochs") && in.has("q") {
		steps := in.number("epochs") / in.number("q")
		in.require(math.Abs(steps-n) < 1e-6*n, "epochs / q is %v, steps are %v", steps, n)
	}
	return in.whole("steps", n)
}

// sensitivity is that of one release; l0 and l-infinity bound it together.
func (in goldenInputs) sensitivity() float64 {
	s := in.one(1, "l2_sensitivity", "l1_sensitivity", "sensitivity")
	if in.has("l0_sensitivity") || in.has("linf_sensitivity") {
		of := in.number("linf_sensitivity", 1) * math.Sqrt(in.number("l0_sensitivity", 1))
		in.require(math.Abs(of-s) < 1e-12*s, "l2_sensitivity is %v, and %v by the others", s, of)
	}
	return s
}

// noise is the scale of the noise relative to a sensitivity of 1, or of the row's.
func (in goldenInputs) noise() float64 {
	if !in.has("effective_sigma") {
		return in.one(math.NaN(), "sigma", "scale")
	}
	sigma := in.number("effective_sigma")
	of := in.number("sigma")
	if in.flag("microbatching_doubles_sensitivity") || in.has("poisson") { // replace-one, in units of the clip
		of /= 2
	}
	in.require(math.Abs(of-sigma) < 1e-12, "effective_sigma is %v, and %v by sigma", sigma, of)
	return sigma
}

// rate is the share of a batch.
func (in goldenInputs) rate() float64 {
	q := in.number("q")
	if in.has("batch_size") || in.has("n") {
		of := in.number("batch_size") / in.number("n")
		in.require(math.Abs(of-q) < 1e-12, "q is %v, batch_size / n is %v", q, of)
	}
	return q
}
