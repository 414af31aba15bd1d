package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestCurveContinuesAndKeepsItsRows: the same command does nothing again, rows that were lost are
// made again with the same bits, and other flags do not write into the file.
func TestCurveContinuesAndKeepsItsRows(t *testing.T) {
	dir := t.TempDir()
	args := []string{"lab", "curve", "--records", "300", "--splits", "2", "--epsilon", "0.5,2", "--json"}
	r := decoded[curveResult](t, dir, args...)
	if len(r.Means) != 4 || r.Failures != 0 || len(r.Figures) != 2 {
		t.Errorf("%+v", r)
	}
	for _, f := range append(r.Figures, r.Summary) {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", f, err)
		}
	}
	path := filepath.Join(dir, "curve.csv")
	whole := must.Get(os.ReadFile(path))(t)
	mustRun(t, dir, args...)
	must.Equal(t, read(t, dir, "curve.csv"), string(whole), "rows after the same command")
	lines := strings.SplitAfter(string(whole), "\n")
	write(t, dir, "curve.csv", strings.Join(lines[:len(lines)-3], ""))
	mustRun(t, dir, args...)
	again, _ := os.ReadFile(path)
	values := func(text string) (out []string) { // times aside
		for _, l := range strings.Split(text, "\n") {
			if f := strings.Split(l, ","); len(f) > 10 && !strings.HasPrefix(l, "#") {
				out = append(out, strings.Join(f[:10], ","))
			}
		}
		return out
	}
	if got, want := values(string(again)), values(string(whole)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	ends(t, dir, exitInput, "does not ask for", "lab", "curve", "--records", "300", "--splits", "2", "--epsilon", "0.5,3")
}

// TestCurveOfPrivateDataIsCharged: nothing is charged unasked, then everything at once.
func TestCurveOfPrivateDataIsCharged(t *testing.T) {
	dir := clinic(t, 400)
	args := []string{"lab", "curve", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "0.5,1", "--out", "private", "--format", "svg"}
	book := filepath.Join(dir, "state", "dyad", "ledger.jsonl")
	for _, c := range []struct {
		more []string
		want string
	}{
		{nil, "--holdout-epsilon"},
		{[]string{"--holdout-epsilon", "1"}, "repeat the command with --yes"},
		{[]string{"--holdout-epsilon", "1", "--yes", "--algorithm", "projected-gradient"}, "is not private"},
	} {
		ends(t, dir, exitInput, c.want, append(args, c.more...)...)
		if _, err := os.Stat(book); err == nil {
			t.Fatal("a ledger was written")
		}
	}
	// Grades: an error after the charge would tell how many different ones there are.
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	graded := strings.Replace(string(text), `role: label, positive: "1", negative: "0"`, "role: label, kind: numeric, range: [0, 4]", 1)
	write(t, dir, "graded.yaml", graded)
	ends(t, dir, exitInput, "grades", append(args, "--schema", "graded.yaml", "--holdout-epsilon", "1", "--yes")...)
	if _, err := os.Stat(book); err == nil {
		t.Fatal("a ledger was written")
	}
	var r privateCurveResult
	ran(t, dir, append(args, "--holdout-epsilon", "1", "--yes", "--json")...).exits(exitOK).warns("the cost of").decode(&r)
	if len(r.Rows) != 2 || r.Guarantee.Epsilon < 1 || r.Spent == nil {
		t.Errorf("%+v", r)
	}
	rows, err := os.ReadFile(filepath.Join(dir, "private.csv"))
	if err != nil || strings.Count(string(rows), "\n") != 3 {
		t.Errorf("%s, %v", rows, err)
	}
	text, err = os.ReadFile(book)
	if err != nil || strings.Count(string(text), `"status":"charged"`)+strings.Count(string(text), `"kind":"charge"`) > 1 {
		t.Errorf("more than one charge: %s, %v", text, err)
	}
	ends(t, dir, exitInput, "--force", append(args, "--holdout-epsilon", "1", "--yes")...)
	ends(t, dir, exitInput, "patients.csv", append(args, "--holdout-epsilon", "1", "--yes", "--force", "--out", "patients")...)
}

// TestCurveByPerson: public figures count persons in their splits, private ones are refused.
func TestCurveByPerson(t *testing.T) {
	dir, _ := visits(t, func(p int) int { return 1 + p*p%9 }, mixedVisit)
	args := []string{"lab", "curve", "--data", "visits.csv", "--schema", "public.yaml", "--epsilon", "1,2", "--splits", "1", "--algorithm", "dpgdsc", "--format", "svg"}
	ends(t, dir, exitInput, "persons", append(args, "--holdout-epsilon", "1", "--yes")...)
	r := decoded[curveResult](t, dir, append(args, "--public-data", "--json")...)
	if r.Failures != 0 {
		t.Fatalf("%+v", r)
	}
	must.Equal(t, r.Means[0].N, 28, "n is")
}
