package audit_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/algorithms/audit"
	"dyad/internal/must"
	"dyad/privacy/privtest"
)

type goldenRow struct {
	quantity string
	in       struct {
		Alpha, Delta, Shift, Significance float64
		TP, FP, TN, FN, N                 int
		Method                            string
	}
	expected, tolerance float64
	relative            bool
}

func (r goldenRow) matches(got float64) bool {
	limit := r.tolerance
	if r.relative {
		limit *= math.Abs(r.expected)
	}
	return math.Abs(got-r.expected) <= limit
}

// readGolden are the rows whose quantity starts with audit_; it skips the test
// where there is no table.
func readGolden(t *testing.T) (rows []goldenRow) {
	t.Helper()
	table, err := privtest.GoldenTable(filepath.Join("..", ".."))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table {
		if !strings.HasPrefix(r[0], "audit_") {
			continue
		}
		row := goldenRow{quantity: r[0]}
		kind, tolerance, _ := strings.Cut(r[3], " ")
		var e1, e2 error
		row.expected, e1 = strconv.ParseFloat(r[2], 64)
		row.tolerance, e2 = strconv.ParseFloat(tolerance, 64)
		row.relative = kind == "rel"
		must.Do(t, errors.Join(e1, e2, json.Unmarshal([]byte(r[1]), &row.in)), r)
		rows = append(rows, row)
	}
	return rows
}

// Reference values of other tools; a value that is 1 % off must be refused.
func TestGoldenAudit(t *testing.T) {
	rows := readGolden(t)
	if len(rows) < 6 {
		t.Errorf("%d rows, want at least 6", len(rows))
	}
	for _, r := range rows {
		event := audit.Event{Likely: r.in.TP, LikelyRuns: r.in.TP + r.in.FN, Rare: r.in.FP, RareRuns: r.in.FP + r.in.TN}
		var got float64
		switch r.quantity {
		case "audit_epsilon_lower_bound_clopper_pearson":
			got = audit.ClopperPearson(event, 0, r.in.Alpha)
		case "audit_ratio_lower_bound": // approximate bounds, which Dyad does not have
			continue
		case "audit_epsilon_one_run":
			got = bestThreshold(r, audit.OneRunEpsilon)
		case "audit_epsilon_one_run_fdp":
			got = bestThreshold(r, audit.OneRunGDPEpsilon)
		default:
			t.Errorf("unknown quantity %s", r.quantity)
		}
		if !r.matches(got) {
			t.Errorf("%s %+v = %v, want %v", r.quantity, r.in, got, r.expected)
		}
		if r.matches(got * 1.01) {
			t.Errorf("%s %+v: 1 %% more is accepted too", r.quantity, r.in)
		}
	}
}

// bestThreshold is how the reference rows were made: scores at the quantiles of
// N(0,1) and N(shift,1), every canary above a threshold is guessed to be in, the best
// of all thresholds of the upper concave hull, each at the level divided by their
// number. (That number depends on the outcome; the audits of this package fix the
// number of guesses beforehand instead.)
func bestThreshold(r goldenRow, bound func(audit.Guesses, float64, float64) float64) float64 {
	n := r.in.N
	type point struct{ fn, tn int }
	var points []point
	fn, tn := 0, 0
	in := func(i int) float64 {
		return distuv.UnitNormal.Quantile((float64(i)+0.5)/float64(n)) + r.in.Shift
	}
	out := func(i int) float64 { return distuv.UnitNormal.Quantile((float64(i) + 0.5) / float64(n)) }
	for fn < n || tn < n {
		points = append(points, point{fn, tn})
		if tn == n || fn < n && in(fn) < out(tn) {
			fn++
		} else {
			tn++
		}
	}
	points = append(points, point{n, n})
	for { // drop points below the chord of their two neighbours, all at once, until none is
		var hull []point
		for i, p := range points {
			if i > 0 && i < len(points)-1 {
				a, b := points[i-1], points[i+1]
				if (p.tn-a.tn)*(b.fn-p.fn)-(b.tn-p.tn)*(p.fn-a.fn) <= 0 {
					continue
				}
			}
			hull = append(hull, p)
		}
		if len(hull) == len(points) {
			break
		}
		points = hull
	}
	level := r.in.Significance / float64(len(points))
	slices.SortFunc(points, func(a, b point) int { return (a.fn - a.tn) - (b.fn - b.tn) })
	best := 0.0
	for _, p := range points {
		g := audit.Guesses{Canaries: 2 * n, Correct: n - p.fn, Made: 2*n - p.fn - p.tn}
		// A lower precision than e^best/(1+e^best) cannot refute more.
		if g.Made == 0 || float64(g.Correct)/float64(g.Made) <= 1/(1+math.Exp(-best)) {
			continue
		}
		best = max(best, bound(g, r.in.Delta, level))
	}
	return best
}
