package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dyad/privacy"
)

// alikePeople are records and pairs in which one person has two ids.
func alikePeople(t *testing.T, dir, one, other string) {
	t.Helper()
	var records, pairs strings.Builder
	records.WriteString("id,kind,score,outcome\n")
	pairs.WriteString("first,second,label\n")
	quoted := func(id string) string { return `"` + strings.ReplaceAll(id, `"`, `""`) + `"` }
	for i, id := range []string{one, other} {
		fmt.Fprintf(&records, "%s,%d,0.5,%d\n", quoted(id), i, i)
	}
	for i := range 12 {
		fmt.Fprintf(&records, "p%d,%d,0.5,%d\n", i, i%2, i/2%2)
	}
	fmt.Fprintf(&pairs, "%s,p0,similar\n%s,p1,dissimilar\np2,p3,similar\n", quoted(one), quoted(other))
	write(t, dir, "people.csv", records.String())
	write(t, dir, "pairs.csv", pairs.String())
	write(t, dir, "people.yaml",
		"data_id: people\ncsv: {header: true}\ncolumns:\n  - {name: id, role: id}\n  - {name: kind, range: [0, 1]}\n  - "+
			"{name: score, range: [0, 1]}\n  - {name: outcome, role: label, positive: 1, negative: 0}\n")
}

// TestLookAlikeIDsEverywhere: with one person under two ids, nothing trains and nothing is
// charged, wherever ids become individuals; with --look-alike-ids allow it does, and the
// guarantee says what an individual is.
func TestLookAlikeIDsEverywhere(t *testing.T) {
	ways := map[string][]string{
		"pairs of a file": {"--pairs", "pairs.csv", "--kappa", "1"},
		"drawn pairs":     {"--density", "1", "--degree-cap", "2"},
		"tuples":          {"--tuple", "4", "--loss", "triplet"},
		"all pairs":       {"--all-pairs"},
	}
	kinds := map[string][2]string{
		"case": {"Anna", "anna"}, "NFC and NFD": {"ren\u00e9", "rene\u0301"}, "U+00A0": {"anna b", "anna\u00a0b"},
		"U+200B": {"anna", "an\u200bna"},
		"U+FEFF": {"anna", "\ufeffanna"}, "full-width p": {"p7a", "\uff507a"}, "quotes": {"fritz", `"fritz"`},
		"CR in quotes": {"fritz", "fritz\r"},
	}
	for way, flags := range ways {
		for kind, ids := range kinds {
			if way != "pairs of a file" && kind != "case" {
				continue
			}
			dir := t.TempDir()
			alikePeople(t, dir, ids[0], ids[1])
			args := append([]string{"pairs", "train", "--verbose", "--data", "people.csv", "--schema", "people.yaml", "--epochs",
				"1"}, flags...)
			ran(t, dir, args...).exits(exitInput).warns("people.csv", "records 1 and 2", "--look-alike-ids allow").lacks(ids[0])
			if exists(filepath.Join(dir, "state")) {
				t.Errorf("%s, %s: something was charged", way, kind)
			}
			ends(t, dir, exitOK, "ids that look alike but differ in a byte are different individuals", append(args, "--look-alike-ids", "allow")...)
		}
	}
}

// TestPairsPlanSaysWhoIsOneIndividual: with the same --look-alike-ids a plan has the guarantee
// of the training, and with the other one it has not.
func TestPairsPlanSaysWhoIsOneIndividual(t *testing.T) {
	dir := t.TempDir()
	alikePeople(t, dir, "anna", "otto")
	report := func(args ...string) string {
		t.Helper()
		r := decoded[struct {
			Report    struct{ Guarantee privacy.Guarantee } // of train
			Guarantee privacy.Guarantee                     // of plan
		}](t, dir, append([]string{"--json", "pairs"}, args...)...)
		if args[0] == "train" {
			r.Guarantee = r.Report.Guarantee
		}
		return r.Guarantee.String() + strings.Join(r.Guarantee.Assumptions, "\n")
	}
	for way, flags := range map[string][2]string{
		"pairs of a file": {"--pairs pairs.csv --kappa 1", "--pairs 3 --kappa 1"},
		"drawn pairs":     {"--density 1 --degree-cap 2", "--density 1 --degree-cap 2"},
		"tuples":          {"--tuple 4 --loss triplet", "--tuple 4 --loss triplet"},
		"all pairs":       {"--all-pairs", "--all-pairs"},
	} {
		for _, train := range []string{"refuse", "allow"} {
			trained := report(append([]string{"train", "--data", "people.csv", "--schema", "people.yaml", "--epochs", "1",
				"--force", "--look-alike-ids", train}, strings.Fields(flags[0])...)...)
			for _, plan := range []string{"refuse", "allow"} {
				planned := report(append([]string{"plan", "-n", "14", "--schema", "people.yaml", "--epochs", "1",
					"--look-alike-ids", plan}, strings.Fields(flags[1])...)...)
				if (planned == trained) != (plan == train) {
					t.Errorf("%s: the training with %s says\n%s\nthe plan with %s says\n%s", way, train, trained, plan, planned)
				}
			}
		}
	}
}

// TestTokensOfLookAlikes: one call makes no tokens for users who may be one person.
func TestTokensOfLookAlikes(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, dir, "local", "plan", "-n", "300", "-d", "2", "--epochs", "2", "--out", "study.json")
	token := []string{"local", "token", "--protocol", "study.json", "--key", "tokens.key", "ben", "Anna", "anna"}
	ran(t, dir, token...).exits(exitInput).warns("users 2 and 3").lacks("Anna").without("tokens.key")
	ran(t, dir, append(token, "--look-alike-ids", "allow")...).exits(exitOK).counts(3, "\n")
	mustRun(t, dir, "local", "token", "--protocol", "study.json", "--key", "tokens.key", "ben", "ben")
}
