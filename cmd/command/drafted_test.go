package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/must"
)

// TestDraftKnowsThatItIsOne: what a draft took from the data and nobody replaced is known as such in every report, however its
// marks went away, and where what the draft took is not there to compare with, every report says that.
func TestDraftKnowsThatItIsOne(t *testing.T) {
	const clean = ""
	remove := func(pattern string) func(string) string {
		return func(schema string) string { return regexp.MustCompile(pattern).ReplaceAllString(schema, "") }
	}
	marks, line := remove(`, from_data: true`), remove(`(?m)^draft: .*\n`)
	replace := func(schema string) string {
		schema = regexp.MustCompile(`range: \[[^]]*\]`).ReplaceAllString(schema, "range: [-1000, 1000]")
		return strings.NewReplacer(`["female", "male"]`, `[female, male, other]`, `["current", "former", "never"]`,
			`[current, former, never, unknown]`).Replace(schema)
	}
	rewritten := func(schema string) string { // as a program that reads and writes YAML does
		s := must.Get(dataset.ParseSchema([]byte(schema)))(t)
		for i := range s.Columns {
			s.Columns[i].FromData = false
			for a, b := 0, len(s.Columns[i].Categories)-1; a < b; a, b = a+1, b-1 {
				s.Columns[i].Categories[a], s.Columns[i].Categories[b] = s.Columns[i].Categories[b], s.Columns[i].Categories[a]
			}
		}
		text := must.Get(s.YAML())(t)
		return string(text)
	}
	for name, c := range map[string]struct {
		edit     func(string) string
		away     bool // the memory of the draft is removed
		says     string
		verdict  string
		schemaAt string
	}{
		"left as it is":          {edit: func(s string) string { return s }, says: algorithms.BoundsFromData},
		"marks removed":          {edit: marks, says: algorithms.BoundsFromData},
		"marks and name removed": {edit: func(s string) string { return line(marks(s)) }, says: algorithms.BoundsFromData},
		"rewritten by a program": {edit: rewritten, says: algorithms.BoundsFromData},
		"ranges alone replaced": {edit: func(s string) string {
			return strings.ReplaceAll(replace(marks(s)), ", other]",
				"]")
		}, says: algorithms.BoundsFromData},
		"one range kept": {edit: func(s string) string {
			return strings.Replace(replace(marks(s)), "range: [-1000, 1000]",
				regexp.MustCompile(`range: \[[^]]*\]`).FindString(s), 1)
		}, says: algorithms.BoundsFromData},
		"replaced":                   {edit: func(s string) string { return replace(marks(s)) }, says: clean},
		"replaced, and name removed": {edit: func(s string) string { return line(replace(marks(s))) }, says: clean},
		"said to be known": {edit: func(s string) string {
			return strings.ReplaceAll(s, "from_data: true", `known_from: "code book of 2019"`)
		}, says: clean},
		"memory away": {edit: marks, away: true, says: algorithms.DraftAway},
		"replaced, memory away": {edit: func(s string) string { return replace(marks(s)) }, away: true,
			says: algorithms.DraftAway},
		"marks left, memory away": {edit: func(s string) string { return s }, away: true, says: algorithms.BoundsFromData},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run := func(want int, args string) string {
				t.Helper()
				return ran(t, dir, strings.Fields(args)...).exits(want).out
			}
			run(exitOK, "data synth p.csv -n 300")
			run(exitOK, "data schema p.csv --label outcome --out p.yaml")
			schema := must.Get(os.ReadFile(filepath.Join(dir, "p.yaml")))(t)
			write(t, dir, "p.yaml", c.edit(string(schema)))
			if c.away {
				must.Do(t, os.Remove(filepath.Join(dir, "p.yaml"+dataset.DraftedEnding)))
			}
			verdict, code := "verified", exitOK
			if c.says != clean {
				verdict, code = map[string]string{algorithms.BoundsFromData: "ranges were taken from the data",
					algorithms.DraftAway: "the draft of the schema was missing"}[c.says], exitFailure
			}
			answers := map[string]string{
				"plan":     run(exitOK, "plan -n 300 --schema p.yaml"),
				"train":    run(exitOK, "train --data p.csv --schema p.yaml --out m.json --report m.html"),
				"page":     read(t, dir, "m.html"),
				"evaluate": run(exitOK, "evaluate m.json --data p.csv --epsilon 0.5"),
				"local":    run(exitOK, "local plan -n 300 --schema p.yaml --epochs 2"),
			}
			for what, text := range answers {
				for _, w := range []string{algorithms.BoundsFromData, algorithms.DraftAway} {
					if has := strings.Contains(strings.ReplaceAll(text, "&#39;", "'"), w); has != (w == c.says) {
						t.Errorf("%s has %q: %v\n%s", what, w, has, text[:min(len(text), 2000)])
					}
				}
			}
			must.Contain(t, run(code, "verify m.json"), verdict)
			if out := run(exitOK, "ledger show p"); strings.Count(out,
				"not hold") != map[bool]int{true: 2}[c.says == algorithms.BoundsFromData] || strings.Count(out, "NOT COMPARED") != map[bool]int{true: 2}[c.says == algorithms.DraftAway] {
				t.Errorf("ledger: %s", out)
			}
			checked := run(exitOK, "data check p.yaml")
			must.Equal(t, strings.Contains(checked, "warning"), c.says != clean, "data check: %s", checked)
			if c.says == algorithms.DraftAway { // and no other command loses it
				run(exitOK, "data convert p.csv q.csv --schema p.yaml --out-schema q.yaml")
				must.Contain(t, run(exitOK, "data check q.yaml"), algorithms.DraftAway)
			}
		})
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	return string(text)
}

// TestDraftsMemory: the file is private, is named in no schema by what it holds, follows a schema that is converted, and a file
// that is not one, or was changed, is refused.
func TestDraftsMemory(t *testing.T) {
	dir := t.TempDir()
	run := func(want int, args, says string) string {
		t.Helper()
		return ran(t, dir, strings.Fields(args)...).exits(want).says(says).out
	}
	memory := filepath.Join(dir, "p.yaml"+dataset.DraftedEnding)
	run(exitOK, "data synth p.csv -n 300", "")
	run(exitOK, "data schema p.csv --label outcome --out p.yaml", "the values from the data are kept")
	if info, err := os.Stat(memory); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	kept, schema := read(t, dir, "p.yaml.drafted"), read(t, dir, "p.yaml")
	name := regexp.MustCompile(`draft: "([a-z0-9]+)"`).FindStringSubmatch(schema)
	run(exitOK, "data schema p.csv --label outcome --out p.yaml --force", "")
	if again := regexp.MustCompile(`draft: "([a-z0-9]+)"`).FindStringSubmatch(read(t, dir, "p.yaml")); name == nil ||
		again == nil || name[1] == again[1] {
		t.Errorf("two drafts of one file are named %q and %q", name, again)
	}
	write(t, dir, "p.yaml", strings.ReplaceAll(schema, ", from_data: true", "")) // of the first draft
	run(exitOK, "data check p.yaml", algorithms.DraftAway)
	run(exitOK, "data check p.yaml", "were taken from the data") // which the second draft knows as well

	for what, text := range map[string]string{"a changed range": strings.Replace(kept, "[", "[1", 1),
		"a cut": kept[:len(kept)/2], "nothing": "", "another text": "# notes\n"} {
		write(t, dir, "p.yaml.drafted", text)
		if run(exitInput, "train --data p.csv --schema p.yaml --out m.json", "p.yaml.drafted: the file "); t.Failed() {
			t.Fatal(what)
		}
		run(exitInput, "data schema p.csv --label outcome --out p.yaml --force", "p.yaml.drafted: the file ")
	}
	must.Do(t, os.Remove(memory))
	must.Do(t, os.Symlink("p.csv", memory))
	run(exitInput, "data check p.yaml", "not a regular file")
	must.Do(t, os.Remove(memory))
	write(t, dir, "p.yaml.drafted", kept)
	write(t, dir, "p.yaml", strings.ReplaceAll(schema, ", from_data: true", ""))
	must.Do(t, os.MkdirAll(filepath.Join(dir, "elsewhere"), 0o700))
	must.Do(t, os.Symlink(filepath.Join("..", "p.yaml"), filepath.Join(dir, "elsewhere", "link.yaml")))
	run(exitOK, "data check elsewhere/link.yaml", "were taken from the data")

	// has marks again, and a memory of its own
	run(exitOK, "data convert p.csv q.csv --schema p.yaml --out-schema q.yaml", "")
	converted := read(t, dir, "q.yaml")
	if write(t, dir, "q.yaml", strings.ReplaceAll(converted, "from_data: true", "")); !strings.Contains(converted,
		"from_data: true") {
		t.Errorf("%s", converted)
	}
	run(exitOK, "data check q.yaml", "were taken from the data")

	write(t, dir, "known.yaml", "age: {range: [0, 120]}\nsex: {categories: [female, male]}\nsmoker: {role: ignore}\n"+
		"bmi: {range: [5, 90]}\nsystolic: {range: [40, 300]}\nglucose: {range: [10, 2000]}\nhba1c: {range: [2, "+
		"20]}\ncholesterol: {range: [20, 1000]}\nhdl: {range: [1, 200]}\ncreatinine: {range: [0, 30]}\n")
	run(exitOK, "data schema p.csv --label outcome --out p.yaml --answers known.yaml --force",
		"every range in the schema comes from an answer")
	must.Err(os.Lstat(memory))(t, "a draft that took nothing from the data keeps the memory of an earlier one")
	if out := run(exitOK, "data check p.yaml", ""); strings.Contains(out, "warning") {
		t.Error(out)
	}
}
