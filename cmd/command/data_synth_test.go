package command

import (
	"os"
	"path/filepath"
	"testing"

	"dyad/internal/must"
)

// TestSynthVisits: the visits train as the file of a hospital, by the schema that is written and
// by one that is drafted from the answers; what does not fit together writes nothing.
func TestSynthVisits(t *testing.T) {
	dir := t.TempDir()
	synth := []string{"data", "synth", "visits.csv", "--visits", "--persons", "210", "--max-rows", "12", "--encoding",
		"windows-1252", "--schema", "visits.yaml", "--answers", "known.yaml", "--held-out", "later.csv", "--held-out-schema",
		"later.yaml", "--json"}
	r := decoded[synthResult](t, dir, synth...)
	if r.Records != 300 ||
		r.Visits.Persons != 210 || r.Visits.HeldOutPersons != 52 || !(r.Visits.AUC > .6 && r.Visits.AUC < .9 && *r.Visits.HeldOutAUC > .6) {
		t.Fatalf("%+v", r)
	}
	for _, args := range [][]string{
		{"data", "schema", "visits.csv", "--answers", "known.yaml", "--label", "Wiederaufnahme", "--positive", "ja", "--out",
			"drafted.yaml"},
		{"train", "--data", "visits.csv", "--schema", "drafted.yaml", "--epsilon", "2", "--out", "m.json"},
		{"train", "--data", "visits.csv", "--schema", "visits.yaml", "--epsilon", "2", "--out", "m.json", "--force"},
		{"predict", "m.json", "--data", "later.csv"},
		{"data", "inspect", "later.csv", "--schema", "later.yaml"},
	} {
		ran(t, dir, args...).exits(exitOK).lacks("BOUNDS NOT PRIVATE")
	}
	ran(t, dir, "ledger", "show", "synthetic-visits").prints("for one person")
	for _, c := range []struct {
		args []string
		want string
	}{
		{synth, "--force"},
		{[]string{"data", "synth", "a.csv", "--persons", "5"}, "for --visits"},
		{[]string{"data", "synth", "a.csv", "--visits", "-n", "5"}, "--persons and --visit-rows"},
		{[]string{"data", "synth", "a.csv", "--visits", "--held-out-schema", "a.yaml"}, "for --held-out"},
		{[]string{"data", "synth", "a.csv", "--visits", "--persons", "5", "--rows", "4"}, "want 5 to 200"},
		{[]string{"data", "synth", "a.csv", "--visits", "--persons", "5", "--held-out", "b.csv"}, "persons, want 2"},
		{[]string{"data", "synth", "a.csv", "-n", "1"}, "at least 2"},
	} {
		ends(t, dir, exitInput, c.want, c.args...)
		must.Err(os.Stat(filepath.Join(dir, "a.csv")))(t, "%v: a file was written", c.args)
	}
}
