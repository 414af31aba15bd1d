package account_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/privtest"
)

// goldenSkip says why a quantity of the table is not computed here, "" if it must
// be.
func goldenSkip(quantity string) string {
	for prefix, why := range map[string]string{
		"audit_":            "empirical lower bounds",
		"laplace_threshold": "partition selection",
		"gdp_clt_":          "an approximation, not a bound",
		"prv_":              "result of another program's search",
		"population_":       "amplification of a population",
		"reference_code_":   "formula without a guarantee",
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

// goldenCheck computes one row and compares. It is an error if a parameter of the row was
// not read, or is not what the computation stands for.
func goldenCheck(q goldenQuantity, in goldenInputs, want float64, tolerance string) error {
	t, err := parseTolerance(tolerance)
	if err != nil {
		return err
	}
	t.upper = t.upper || q.upper != ""
	got, err := q.compute(in)
	if err != nil {
		return err
	}
	below := 0.0
	if t.upper && t.exact == 0 {
		if q.below == nil {
			return errors.New("an upper bound needs a lower bound of the exact value")
		}
		if below, err = q.below(in); err != nil {
			return err
		}
	}
	if err := in.faults(); err != nil {
		return err
	}
	if !t.accepts(got, want, below) {
		return fmt.Errorf("%v: got %v, want %v (%s), lower bound %v", in.values, got, want, tolerance, max(below, t.exact))
	}
	// The comparison must be able to fail.
	for _, off := range []float64{1.02, 0.98} {
		if wrong := got*off + (off - 1); t.abs < 1e-3 && t.rel < 2e-3 && !t.upper && t.accepts(wrong, want, below) {
			return fmt.Errorf("%v: %v in place of %v is accepted too", in.values, wrong, got)
		}
	}
	return nil
}

// slow quantities are left out in a short run: seconds of transforms.
func slow(quantity string) bool {
	return strings.HasPrefix(quantity, "pld_") || quantity == "laplace_composition_epsilon_pld" || quantity == "rdp_epsilon_wor_subsampled_gaussian_replace_one" ||
		strings.HasPrefix(quantity, "pure_dp_")
}

// goldenReport counts the rows of a table by quantity.
type goldenReport struct {
	passed  map[string]int
	left    map[string]int // of goldenSkip, or slow
	unknown map[string]int // quantities that this test does not know: they are named
	failed  []error
}

// goldenRun checks the rows of a table.
func goldenRun(rows [][]string, short bool) goldenReport {
	r := goldenReport{passed: map[string]int{}, left: map[string]int{}, unknown: map[string]int{}}
	quantities := goldenQuantities()
	for i, row := range rows {
		quantity := row[0]
		q, known := quantities[quantity]
		switch {
		case goldenSkip(quantity) != "" || known && short && slow(quantity):
			r.left[quantity]++
			continue
		case !known:
			r.unknown[quantity]++
			continue
		}
		in := newGoldenInputs()
		want, err := strconv.ParseFloat(row[2], 64)
		if err = errors.Join(err, json.Unmarshal([]byte(row[1]), &in.values)); err == nil {
			err = goldenCheck(q, in, want, row[3])
		}
		if err != nil {
			r.failed = append(r.failed, fmt.Errorf("row %d, %s: %w", i+2, quantity, err))
			continue
		}
		r.passed[quantity]++
	}
	return r
}

// Every row of the table of reference values, except the quantities of goldenSkip. A file
// that DYAD_GOLDEN names may have other quantities, which are named and not checked.
func TestGoldenTable(t *testing.T) {
	rows, err := privtest.GoldenTable("..")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := goldenRun(rows, testing.Short())
	for _, err := range r.failed {
		t.Error(err)
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
	report("passed", r.passed)
	report("left out", r.left)
	report("UNKNOWN to this test, not checked", r.unknown)
	if os.Getenv("DYAD_GOLDEN") != "" {
		return
	}
	for q := range goldenQuantities() {
		if r.passed[q] == 0 && r.left[q] == 0 {
			t.Errorf("no row of %s passed", q)
		}
	}
}

// goldenRows are rows in the form of the table.
func goldenRows(t *testing.T, text string) [][]string {
	t.Helper()
	return must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
}

// The table test names quantities that it does not know, and notices wrong values,
// parameters that it does not read and parameters that contradict each other.
func TestGoldenRows(t *testing.T) {
	const right = `gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10}",0.00875176814581,abs 1e-10,x
`
	r := goldenRun(goldenRows(t, right+`gaussian_zeta_of_the_moon,"{""moon"": ""full""}",about 3,roughly,x
gaussian_zeta_of_the_moon,{,?,,x
audit_epsilon_one_run,{},1,exact,x
`), true)
	if len(r.failed) != 0 || r.passed["gaussian_delta"] != 1 || r.unknown["gaussian_zeta_of_the_moon"] != 2 || r.left["audit_epsilon_one_run"] != 1 {
		t.Errorf("%+v", r)
	}
	for name, c := range map[string]struct{ row, says string }{
		"wrong value":           {`gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10}",0.00875176834581,abs 1e-10,x`, "want 0.00875"},
		"unread parameter":      {`gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10, ""q"": 0.5}",0.00875176814581,abs 1e-10,x`, "q is not read"},
		"missing parameter":     {`gaussian_delta,"{""l2_sensitivity"": 1, ""sigma"": 10}",0.00875176814581,abs 1e-10,x`, "epsilon is missing"},
		"text for a number":     {`gaussian_delta,"{""epsilon"": ""0.1"", ""l2_sensitivity"": 1, ""sigma"": 10}",0.00875176814581,abs 1e-10,x`, "epsilon is missing"},
		"other sensitivity":     {`gaussian_delta,"{""epsilon"": 0.1, ""l0_sensitivity"": 4, ""linf_sensitivity"": 1, ""l2_sensitivity"": 1, ""sigma"": 10}",0.00875176814581,abs 1e-10,x`, "l2_sensitivity"},
		"two counts":            {`gaussian_composition_delta,"{""epsilon"": 1, ""sigma"": 1.7320508075688772, ""steps"": 3, ""T"": 3}",0.126936,abs 1e-3,x`, "steps"},
		"broken count":          {`gaussian_composition_delta,"{""epsilon"": 1, ""sigma"": 1.7320508075688772, ""steps"": 3.5}",0.126936,abs 1e-3,x`, "steps"},
		"other neighbours":      {`rdp_poisson_subsampled_gaussian,"{""neighboring"": ""add_two"", ""order"": 5, ""q"": 0.01, ""sigma"": 2.5, ""steps"": 50}",0.00218075656,rel 1e-4,x`, "neighboring"},
		"other epochs":          {`rdp_epsilon_dpsgd_example,"{""delta"": 1e-05, ""effective_sigma"": 0.7, ""epochs"": 2, ""microbatching_doubles_sensitivity"": false, ""q"": 0.01, ""sigma"": 0.7, ""steps"": 120}",3.2392676,abs 1e-6,x`, "epochs"},
		"other noise":           {`rdp_epsilon_dpsgd_example,"{""delta"": 1e-05, ""effective_sigma"": 0.7, ""epochs"": 1.2, ""microbatching_doubles_sensitivity"": true, ""q"": 0.01, ""sigma"": 0.7, ""steps"": 120}",3.2392676,abs 1e-6,x`, "effective_sigma"},
		"composition":           {`optimal_composition_epsilon_KOV,"{""delta0"": 0.001, ""epsilon0"": 1, ""steps"": 30, ""total_delta"": 0.1}",18.0,abs 1e-6,x`, "want 18"},
		"tolerance":             {`gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10}",0.00875176814581,about right,x`, "tolerance"},
		"no number":             {`gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10}",small,abs 1e-10,x`, "small"},
		"below the exact value": {`gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10}",0.01,"UPPER BOUND ONLY (exact by mpmath is 9e-03, x)",x`, "lower bound 0.009"},
		"bound without another": {`gaussian_delta,"{""epsilon"": 0.1, ""l2_sensitivity"": 1, ""sigma"": 10}",0.01,rel 1e-4 for the same bound; otherwise treat as an UPPER BOUND,x`, "lower bound"},
	} {
		if r := goldenRun(goldenRows(t, c.row), true); len(r.failed) != 1 || !strings.Contains(r.failed[0].Error(), c.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for q := range goldenQuantities() {
		must.Equal(t, goldenSkip(q), "", "%s is computed and left out", q)
	}
}
