package privacy_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad/privacy"
)

// goldenRow is a row of the table of reference values: inputs are JSON, the
// tolerance is "abs 1e-10" or "rel 1e-9".
type goldenRow struct {
	quantity string
	in       struct {
		Epsilon, Delta, Sigma float64
		Sensitivity           float64 `json:"l2_sensitivity"`
		T                     int
	}
	expected  float64
	tolerance float64
	relative  bool
	source    string
}

// readGolden reads ../../shared/golden/privacy.csv, beside the repository, or the
// file that DYAD_GOLDEN names; it skips the test where there is none.
func readGolden(t *testing.T, prefix ...string) (rows []goldenRow) {
	t.Helper()
	name := os.Getenv("DYAD_GOLDEN")
	if name == "" {
		name = filepath.Join("..", "..", "shared", "golden", "privacy.csv")
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("DYAD_GOLDEN") == "" {
		t.Skip("no table of reference values; DYAD_GOLDEN can name one")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records[1:] {
		for _, p := range prefix {
			if r[0] != p {
				continue
			}
			row := goldenRow{quantity: r[0], source: r[4]}
			row.in.T = 1
			row.in.Epsilon, row.in.Delta = math.NaN(), math.NaN()
			kind, tolerance, _ := strings.Cut(r[3], " ")
			var e1, e2 error
			row.expected, e1 = strconv.ParseFloat(r[2], 64)
			row.tolerance, e2 = strconv.ParseFloat(tolerance, 64)
			row.relative = kind == "rel"
			if err := errors.Join(e1, e2, json.Unmarshal([]byte(r[1]), &row.in)); err != nil {
				t.Fatalf("%v: %v", r, err)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// matches compares as the row says.
func (r goldenRow) matches(got float64) bool {
	limit := r.tolerance
	if r.relative {
		limit *= math.Abs(r.expected)
	}
	return math.Abs(got-r.expected) <= limit
}

func (r goldenRow) compute(t *testing.T) float64 {
	t.Helper()
	switch r.quantity {
	case "gaussian_delta":
		var a privacy.GDP
		if err := a.Compose(privacy.GaussianEvent{Sensitivity: r.in.Sensitivity, Sigma: r.in.Sigma, Count: 1}); err != nil {
			t.Fatal(err)
		}
		return a.Delta(r.in.Epsilon)
	case "gaussian_epsilon_analytic_composed":
		var a privacy.GDP
		if err := a.Compose(privacy.GaussianEvent{Sensitivity: r.in.Sensitivity, Sigma: r.in.Sigma, Count: r.in.T}); err != nil {
			t.Fatal(err)
		}
		return a.Epsilon(r.in.Delta)
	default:
		c, err := privacy.CertificateForTest(r.in.Sensitivity)
		if err != nil {
			t.Fatal(err)
		}
		m, err := privacy.CalibrateGaussian(c, privacy.Budget{Epsilon: r.in.Epsilon, Delta: r.in.Delta}, r.in.T)
		if err != nil {
			t.Fatal(err)
		}
		if r.quantity == "gaussian_variance_analytic" {
			return m.Sigma * m.Sigma
		}
		return m.Sigma
	}
}

// Reference values of other implementations and of 60-digit arithmetic; every
// row must also reject a value that is 1 % off.
func TestGoldenGaussian(t *testing.T) {
	rows := readGolden(t, "gaussian_delta", "gaussian_epsilon_analytic_composed",
		"gaussian_sigma_analytic", "gaussian_sigma_analytic_composed", "gaussian_variance_analytic")
	seen := map[string]int{}
	for _, r := range rows {
		seen[r.quantity]++
		got := r.compute(t)
		if !r.matches(got) {
			t.Errorf("%s %+v = %v, want %v (%s)", r.quantity, r.in, got, r.expected, r.source)
		}
		if r.matches(got*1.01) && r.tolerance < 0.01 && math.Abs(r.expected) > 1e-3 {
			t.Errorf("%s %+v: 1 %% more is accepted too", r.quantity, r.in)
		}
	}
	if seen["gaussian_delta"] < 3 || seen["gaussian_epsilon_analytic_composed"] < 25 || seen["gaussian_sigma_analytic_composed"] < 70 {
		t.Errorf("rows found: %v", seen)
	}
	t.Logf("rows: %v", seen)
}
