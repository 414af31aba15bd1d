package privacy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sort"
	"strconv"
	"strings"
	"testing"

	"dyad/privacy/privtest"
)

// goldenSkip says why a quantity of the table is not computed here, "" if it must
// be.
func goldenSkip(quantity string) string {
	for _, part := range []string{"KOV", "optimal_composition", "DRV"} {
		if strings.Contains(quantity, part) {
			return "closed forms of pure composition; PLD is tighter"
		}
	}
	for prefix, why := range map[string]string{
		"audit_":                      "empirical lower bounds",
		"laplace_threshold":           "partition selection",
		"gdp_clt_":                    "an approximation, not a bound",
		"prv_":                        "result of another program's search",
		"population_":                 "amplification of a population",
		"reference_code_":             "formula without a guarantee",
		"composition_epsilon_kairouz": "closed form of pure composition; PLD is tighter",
	} {
		if strings.HasPrefix(quantity, prefix) {
			return why
		}
	}
	if strings.HasSuffix(quantity, "_truncated") {
		return "another mechanism: truncated noise"
	}
	return ""
}

// goldenInputs are the inputs of a row.
type goldenInputs map[string]any

// number returns an input, or the first of the fallbacks if it is missing.
func (in goldenInputs) number(name string, fallback ...float64) float64 {
	if v, ok := in[name].(float64); ok {
		return v
	}
	if len(fallback) > 0 {
		return fallback[0]
	}
	return math.NaN()
}

func (in goldenInputs) text(name string) string { s, _ := in[name].(string); return s }

// count is the number of releases: T or steps.
func (in goldenInputs) count() int {
	return int(in.number("T", in.number("steps", 1)))
}

// goldenTolerance is how far a computed value may be from the expected one.
type goldenTolerance struct {
	abs, rel float64
	upper    bool    // the expected value is an upper bound
	exact    float64 // with upper: the exact value if the table has it, else 0
}

func parseTolerance(s string) (goldenTolerance, error) {
	var t goldenTolerance
	fields := strings.Fields(s)
	if strings.Contains(s, "UPPER BOUND") {
		t.upper = true
		if _, after, ok := strings.Cut(s, "exact by mpmath is "); ok {
			number, _, _ := strings.Cut(after, ",")
			v, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return t, err
			}
			t.exact = v
			return t, nil
		}
	}
	switch {
	case len(fields) == 1 && fields[0] == "exact":
		return t, nil
	case len(fields) >= 2 && (fields[0] == "abs" || fields[0] == "rel"):
		v, err := strconv.ParseFloat(fields[1], 64)
		if fields[0] == "abs" {
			t.abs = v
		} else {
			t.rel = v
		}
		return t, err
	}
	return t, fmt.Errorf("tolerance %q is not understood", s)
}

// accepts compares got with want; below is a proved lower bound of the exact value
// where want is an upper bound.
func (t goldenTolerance) accepts(got, want, below float64) bool {
	limit := t.abs + t.rel*math.Abs(want)
	if t.upper {
		return got <= want+limit && got >= max(below, t.exact)
	}
	return math.Abs(got-want) <= limit
}

// goldenCheck computes one row with the dispatcher and compares. known is false
// for a quantity that the dispatcher lacks.
func goldenCheck(quantities map[string]goldenQuantity, quantity string, in goldenInputs, want float64, tolerance string) (known bool, err error) {
	q, ok := quantities[quantity]
	if !ok {
		return false, fmt.Errorf("quantity %q is neither computed nor on the list of those left out", quantity)
	}
	t, err := parseTolerance(tolerance)
	if err != nil {
		return true, err
	}
	t.upper = t.upper || q.upper != ""
	got, err := q.compute(in)
	if err != nil {
		return true, err
	}
	below := 0.0
	if t.upper && t.exact == 0 {
		if q.below == nil {
			return true, errors.New("an upper bound needs a lower bound of the exact value")
		}
		if below, err = q.below(in); err != nil {
			return true, err
		}
	}
	if !t.accepts(got, want, below) {
		return true, fmt.Errorf("%v: got %v, want %v (%s), lower bound %v", in, got, want, tolerance, max(below, t.exact))
	}
	// The comparison must be able to fail.
	for _, off := range []float64{1.02, 0.98} {
		if wrong := got*off + (off - 1); t.abs < 1e-3 && t.rel < 2e-3 && !t.upper && t.accepts(wrong, want, below) {
			return true, fmt.Errorf("%v: %v in place of %v is accepted too", in, wrong, got)
		}
	}
	return true, nil
}

// slow quantities are left out in a short run: seconds of transforms.
func slow(quantity string) bool {
	return strings.HasPrefix(quantity, "pld_") || quantity == "laplace_composition_epsilon_pld" || quantity == "rdp_epsilon_wor_subsampled_gaussian_replace_one"
}

// Every row of the table of reference values, except the quantities of goldenSkip.
func TestGoldenTable(t *testing.T) {
	rows, err := privtest.GoldenTable("..")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	quantities := goldenQuantities()
	passed, left := map[string]int{}, map[string]int{}
	for i, r := range rows {
		quantity := r[0]
		if goldenSkip(quantity) != "" || testing.Short() && slow(quantity) {
			left[quantity]++
			continue
		}
		var in goldenInputs
		want, err := strconv.ParseFloat(r[2], 64)
		if err := errors.Join(err, json.Unmarshal([]byte(r[1]), &in)); err != nil {
			t.Fatalf("row %d: %v", i+2, err)
		}
		if _, err := goldenCheck(quantities, quantity, in, want, r[3]); err != nil {
			t.Errorf("row %d, %s: %v", i+2, quantity, err)
			continue
		}
		passed[quantity]++
	}
	report := func(title string, rows map[string]int) {
		names, total := make([]string, 0, len(rows)), 0
		for q, n := range rows {
			names = append(names, fmt.Sprintf("%s %d", q, n))
			total += n
		}
		sort.Strings(names)
		t.Logf("%s: %d rows: %s", title, total, strings.Join(names, ", "))
	}
	report("passed", passed)
	report("left out", left)
	for q := range quantities {
		if passed[q] == 0 && left[q] == 0 {
			t.Errorf("no row of %s passed", q)
		}
	}
}

// The table test must notice rows that it cannot compute and wrong values.
func TestGoldenCheckRejects(t *testing.T) {
	quantities := goldenQuantities()
	in := goldenInputs{"epsilon": 0.1, "l2_sensitivity": 1.0, "sigma": 10.0}
	if known, err := goldenCheck(quantities, "gaussian_delta", in, 0.00875176814581, "abs 1e-10"); !known || err != nil {
		t.Fatalf("a true row is rejected: %v", err)
	}
	for _, c := range []struct {
		name, quantity, tolerance string
		want                      float64
	}{
		{"made-up quantity", "gaussian_zeta_of_the_moon", "abs 1e-10", 0.00875176814581},
		{"wrong value", "gaussian_delta", "abs 1e-10", 0.00875176834581},
		{"unknown tolerance", "gaussian_delta", "about right", 0.00875176814581},
		{"upper bound below the exact value", "gaussian_delta", "UPPER BOUND ONLY (exact by mpmath is 9e-03, x)", 0.01},
		{"upper bound without a lower bound", "gaussian_delta", "rel 1e-4; otherwise treat as an UPPER BOUND", 0.01},
	} {
		if _, err := goldenCheck(quantities, c.quantity, in, c.want, c.tolerance); err == nil {
			t.Errorf("%s: not rejected", c.name)
		}
	}
	if goldenSkip("gaussian_zeta_of_the_moon") != "" {
		t.Error("the made-up quantity is on the list of those left out")
	}
	for q := range quantities {
		if why := goldenSkip(q); why != "" {
			t.Errorf("%s is computed and left out (%s)", q, why)
		}
	}
}
