package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// masks hide what is released (weights) and what is drawn or read from a clock.
var masks = []mask{
	{regexp.MustCompile(`(?s)"(weights|average)": ?\[[^\]]*\]`), `"$1":RELEASED`},
	{regexp.MustCompile(`(?s)"log_odds": ?\{.*?\}`), `"log_odds":RELEASED`}, // TestMomentsSeeReleasesAlone
	{regexp.MustCompile(`[A-Z2-7]{26}`), "RUN"},
	{regexp.MustCompile(`"created": "[^"]*"`), `"created": CLOCK`},
	{regexp.MustCompile(`"checksum": "sha256:[0-9a-f]{64}"`), `"checksum": OF ALL THAT`},
}

type mask struct {
	pattern *regexp.Regexp
	by      string
}

func masked(text string, by []mask) string {
	for _, m := range by {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	return text
}

// observed is all that a command prints and all files that it leaves and that are not
// private (the ledger and the state of a stream), with masks.
func observed(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, errs := ran(t, dir, args...).exits(exitOK).texts()
	all := out + "\n--- errors\n" + errs
	files := must.Get(os.ReadDir(dir))(t)
	for _, f := range files {
		if f.IsDir() || strings.HasPrefix(f.Name(), "patients") || strings.HasPrefix(f.Name(), "s.") || f.Name() == "s" {
			continue
		}
		text := must.Get(os.ReadFile(filepath.Join(dir, f.Name())))(t)
		all += "\n--- " + f.Name() + "\n" + string(text)
	}
	return strings.ReplaceAll(masked(all, masks), dir, "DIR")
}

// neighbouringClinics are two folders whose files differ in one record, in every field.
func neighbouringClinics(t *testing.T, n int) (a, b string) {
	t.Helper()
	a, b = clinic(t, n), clinic(t, n)
	text := must.Get(os.ReadFile(filepath.Join(b, "patients.csv")))(t)
	lines := strings.Split(string(text), "\n")
	outcome := "1"
	if strings.HasSuffix(lines[7], ",1") {
		outcome = "0"
	}
	lines[7] = "95,male,55,220,300,13,400,110,10,current," + outcome
	write(t, b, "patients.csv", strings.Join(lines, "\n"))
	return a, b
}

// Of two data sets that differ in one record, a run prints and writes the same, but for
// what it releases with noise: no class balance, no step that was found from the data,
// no figure of the fit.
func TestOutputIsTheSameOnNeighbours(t *testing.T) {
	sizes.NotShort(t, "slow")
	train := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json", "--epsilon", "2"}
	online := append([]string{"--data", "patients.csv"}, onlineFlags[1:]...)
	online = append([]string{"online", "--out", "m.json", "--average"}, online...)
	runs := map[string][]string{
		"metric":    append(train[:len(train):len(train)], "--task", "metric"),
		"json":      append(train[:len(train):len(train)], "--json"),
		"per class": append(online[:len(online):len(online)], "--per-class"),
		"reservoir": append(online[:len(online):len(online)], "--reservoir"),
		"pure":      append(train[:len(train):len(train)], "--delta", "0"),
		"network":   append(train[:len(train):len(train)], "--model", "mlp", "--hidden", "4", "--steps", "3"),
		"embedding": append(train[:len(train):len(train)], "--model", "mlp", "--task", "metric", "--dim", "2", "--algorithm", "subsampled-descent", "--steps", "3", "--json"),
	}
	for _, alg := range algorithms.Catalog() {
		i := alg.Info()
		if i.Modes[0] == algorithms.Certified {
			runs[i.Name] = append(train[:len(train):len(train)], "--algorithm", i.Name)
			if i.NeedsL2 {
				runs[i.Name] = append(runs[i.Name], "--l2", "0.1")
			}
			if i.MetricsOnly {
				runs[i.Name] = append(runs[i.Name], "--task", "metric")
			}
		}
	}
	for _, alg := range algorithms.StreamCatalog() {
		i := alg.Info()
		if i.Modes[0] == algorithms.Certified {
			runs[i.Name] = append(online[:len(online):len(online)], "--algorithm", i.Name)
			if i.NeedsL2 {
				runs[i.Name] = append(runs[i.Name], "--l2", "0.1")
			}
		}
	}
	for name, args := range runs {
		a, b := neighbouringClinics(t, 64)
		x, y := observed(t, a, args...), observed(t, b, args...)
		if x != y {
			t.Errorf("%s: a record shows outside of the release:\n%s\n--- on the neighbour\n%s", name, x, y)
		}
		must.Contain(t, x, "RELEASED")
	}
	// The comparison sees a figure: with held-out records and equal noise, the same data
	// give the same output and the neighbour another.
	figures := append(train[:len(train):len(train)], "--holdout", "0.5", "--exact-figures", "--seed", "1")
	a, b := neighbouringClinics(t, 64)
	again, _ := neighbouringClinics(t, 64)
	x := observed(t, a, figures...)
	must.Equal(t, x, observed(t, again, figures...), "a seeded run on the same data is not the same")
	if x == observed(t, b, figures...) {
		t.Error("figures of held-out records were not noticed")
	}
}

// Ranges that were taken from the data void a guarantee, whoever trains.
func TestBoundsFromTheDataAreSaid(t *testing.T) {
	wantSaid(t, "BOUNDS NOT PRIVATE", func(schema string) string { return "bounds_from_data: true\n" + schema },
		[]string{"pairs", "plan", "-n", "40", "--schema", "patients.yaml", "--pairs", "50", "--kappa", "3"}) // reads no label
}

// Rows left out by their label are not hidden, and the guarantee says so.
func TestRowsLeftOutByLabelAreSaid(t *testing.T) {
	wantSaid(t, "is not protected", func(schema string) string {
		return strings.Replace(schema, `negative: "0"`, `negative: "0", others: drop`, 1)
	})
}

// wantSaid checks that every command with a guarantee says a text if, and only if, the schema is changed.
func wantSaid(t *testing.T, text string, change func(schema string) string, more ...[]string) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 40)
	schema := string(must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t))
	for _, changed := range []bool{false, true} {
		if changed {
			write(t, dir, "patients.yaml", change(schema))
		}
		state := map[bool]string{true: "s1", false: "s0"}[changed]
		for _, args := range append([][]string{
			{"plan", "-n", "40", "--schema", "patients.yaml"},
			{"plan", "-n", "40", "--schema", "patients.yaml", "--algorithm", "dpftrl"},
			{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json", "--force"},
			{"online", "--data", "patients.csv", "--schema", "patients.yaml", "--records", "40", "--every", "10", "--state", state},
			{"local", "simulate", "--data", "patients.csv", "--schema", "patients.yaml"},
			{"local", "plan", "-n", "40", "--schema", "patients.yaml", "--out", "protocol.json", "--force"},
			{"local", "server", "--dir", "study-" + state, "-n", "40", "--schema", "patients.yaml", "--check"},
			{"local", "client", "--protocol", "protocol.json", "--data", "patients.csv", "--schema", "patients.yaml", "--user", "u", "--memory", "u.json", "--max-epsilon", "10"},
			{"pairs", "plan", "-n", "40", "--schema", "patients.yaml", "--tuple", "4"},
			{"pairs", "plan", "-n", "40", "--schema", "patients.yaml", "--tuple", "4", "--model", "mlp"},
			{"pairs", "plan", "-n", "40", "--schema", "patients.yaml", "--density", "1", "--degree-cap", "4", "--method", "input"},
			{"pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--tuple", "4", "--out", "p.json", "--force"},
			{"pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--all-pairs", "--out", "p.json", "--force"},
			{"pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--density", "1", "--degree-cap", "4", "--out", "p.json", "--force"},
		}, more...) {
			r := ran(t, dir, args...).exits(exitOK)
			r.contains(r.out, changed, []string{text})
		}
	}
}
