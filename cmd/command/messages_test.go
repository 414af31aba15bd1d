package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// TestNewcomersMistakes: what three newcomers did wrong and were told badly, by the numbers of the
// list that was kept of them, 0 for later ones. Each has an answer that says what is wrong and what to do, and what
// is refused charges nothing.
func TestNewcomersMistakes(t *testing.T) {
	dir := clinic(t, 200)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(text), "\n")
	// with is the file with another value in a column of row 2; row 0 has the names.
	with := func(row, column int, value string) string {
		changed := append([]string{}, lines...)
		fields := strings.Split(strings.TrimSpace(changed[row]), ",")
		fields[column] = value
		changed[row] = strings.Join(fields, ",") + "\n"
		return strings.Join(changed, "")
	}
	names := strings.Split(strings.TrimSpace(lines[0]), ",")
	label := len(names) - 1
	var unlabelled strings.Builder
	for _, l := range lines {
		if k := strings.LastIndexByte(l, ','); k >= 0 {
			unlabelled.WriteString(l[:k] + "\n")
		}
	}
	write(t, dir, "nan.csv", with(2, 0, "NaN"))
	write(t, dir, "huge.csv", with(2, 0, "1e9"))
	write(t, dir, "twice.csv", with(0, 1, names[0]))
	write(t, dir, "latin-name.csv", with(0, 0, "\xe4ge"))
	write(t, dir, "latin-value.csv", with(2, 1, "m\xe4nnlich"))
	write(t, dir, "unlabelled.csv", unlabelled.String())
	write(t, dir, "german.csv", "wert;y\n24,5;0\n31,25;1\n12,0;0\n18,5;1\n19,5;1\n")
	write(t, dir, "american.csv",
		"x,share,day,y\n\"12,345\",45%,3/14/2024,0\n\"1,234,567\",12%,3/15/2024,1\n5,7%,4/16/2024,1\n7,8%,4/16/2024,1\n")
	write(t, dir, "ambiguous.csv", "x;y\n1.234;0\n2.345;1\n3.456;0\n4.567;1\n")
	write(t, dir, "sheet.xlsx", "PK\x03\x04"+strings.Repeat("\x00", 22)+
		"\x13\x00\x00\x00[Content_Types].xml xl/workbook.xml")
	write(t, dir, "draft.yaml", "kept")
	var wider strings.Builder
	for _, l := range lines {
		if l != "" {
			wider.WriteString("ward," + l)
		}
	}
	write(t, dir, "wider.csv", wider.String())
	tolerant := strings.Replace(dataset.SyntheticClinicalYAML(), "public: true",
		"public: false\nmissing: {policy: middle}", 1)
	write(t, dir, "tolerant.yaml", strings.Replace(tolerant, "data_id:", "data_id: tolerant #", 1))

	ctx, cancel := context.WithCancel(context.Background())
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	train := "train --data patients.csv --schema patients.yaml "
	code, _, errs := hooked(ctx, reach("charged", cancel), strings.Fields(train+"--data-id stopped --out stopped.json")...)
	if code != exitCancelled {
		t.Fatalf("exit %d: %s", code, errs)
	}
	run := regexp.MustCompile(`[A-Z2-7]{26}`).FindString(errs)

	for _, c := range []struct {
		number  int
		mistake string
		args    string
		code    int
		want    string // in what is written to standard output and error
	}{
		{14, "NaN", "train --data nan.csv --schema tolerant.yaml --out nan.json", exitOK, "model       nan.json"},
		{19, "epsilon below 0", train + "--epsilon -1", exitInput, "--epsilon is -1, want a number above 0\n"},
		{20, "epsilon of a million", train + "--epsilon 1e6 --out 20.json", exitOK,
			"warning: epsilon = 1e+06 protects little"},
		{22, "delta above 1/n", train + "--delta 0.1 --out 22.json", exitInput,
			"delta is 0.1, which is above 1/n; such a delta allows the release of a whole record. To go " +
				"on, repeat the command with --yes. No budget was charged"},
		{22, "delta near 1/n", train + "--delta 0.1 --yes --out 22.json", exitOK, "warning: delta = 0.1 is so large (above 1/(10 n)"},
		{32, "a value outside of its range", "train --data huge.csv --schema patients.yaml --out huge.json", exitOK, clamped},
		{33, "decimal commas", "data schema german.csv", exitOK, `{name: "wert", range: [12, 31.25], from_data: true}`},
		{34, "thousands", "data schema american.csv", exitOK, `{name: "x", range: [5, 1.234567e+06], from_data: true}`},
		{34, "percent", "data schema american.csv", exitOK, `{name: "share", range: [7, 45], suffix: "%", from_data: true}`},
		{34, "dates", "data schema american.csv", exitOK, `date: {format: "MM/DD/YYYY", from: 2024-03-14, to: 2024-04-16}`},
		{34, "1.234, which can be two numbers", "data schema ambiguous.csv", exitInput,
			"say which by an answer with decimal"},
		{36, "Latin-1, a name", "train --data latin-name.csv --schema patients.yaml", exitInput,
			"latin-name.csv: row 1, column 1: the file is not UTF-8; set csv.encoding: windows-1252"},
		{36, "Latin-1, a value", "train --data latin-value.csv --schema patients.yaml", exitInput,
			"the file is not UTF-8; set csv.encoding: windows-1252"},
		{37, "a damaged workbook", "data schema sheet.xlsx", exitInput,
			`the workbook is damaged, too large or not a .xlsx file; save it again as .xlsx or "CSV UTF-8"`},
		{38, "a folder as data", "train --data . --schema patients.yaml", exitInput,
			"this folder must not be in a folder of data"},
		{48, "no model", "predict --data patients.csv", exitInput,
			"dyad predict needs model; write this argument after the command, as in dyad predict MODEL"},
		{50, "the draft is there", "data schema patients.csv --label outcome --out draft.yaml", exitInput,
			"draft.yaml exists; choose another name, or --force to replace it"},
		{50, "the remedy works", "data schema patients.csv --label outcome --out draft.yaml --force", exitOK,
			"draft written to draft.yaml"},
		{51, "which class scores high", train + "--out 51.json", exitOK, "a high score means outcome = 1"},
		{51, "which class scores high, of scores", "predict 51.json --data patients.csv --out 51.csv", exitOK,
			"a high score means outcome = 1"},
		{52, "a name twice", "train --data twice.csv --schema patients.yaml", exitInput,
			"the header names this column twice; rename one"},
		{55, "resume with another epsilon", train + "--data-id stopped --out stopped.json --epsilon 2 --resume " + run,
			exitInput, "was charged for the guarantee (1, 1e-05)-differentially private (0.268052-GDP), but now it is " +
				"(2, 1e-05)-differentially private"},
		{61, "evaluate without labels", "evaluate 51.json --data unlabelled.csv --public-data", exitInput,
			`column "` + names[label] + `": the header lacks the label, which training and evaluation need`},
		{0, "columns that the model does not know", "predict 51.json --data wider.csv --out wider-scores.csv", exitOK,
			"columns of wider.csv that the model does not know were ignored"},
		{0, "those columns in training", "train --data wider.csv --schema patients.yaml --out wider.json", exitInput,
			"it has a name that the schema lacks"},
		{0, "the next step works", "predict 51.json --data patients.csv --out more.csv", exitOK,
			"dyad evaluate 51.json --data FILE --epsilon E"},
		{63, "n below 0", "plan -n -5", exitInput, "-n is -5, want a whole number above 0\n"},
	} {
		before, _ := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl"))
		code, out, errs := dyad(t, dir, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%d, %s: dyad %s: exit %d, want %d and %q:\n%s%s", c.number, c.mistake, c.args, code, c.code,
				c.want, out, errs)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")); code != exitOK &&
			!bytes.Equal(before, after) {
			t.Errorf("%d, %s: the ledger changed", c.number, c.mistake)
		}
	}
}

// TestWarnedBeforeTheCharge: what weakens or voids a guarantee is on the screen when nothing has
// been charged yet, and the ledger marks ranges that came from the data.
func TestWarnedBeforeTheCharge(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 200)
	schema := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "drafted.yaml", string(schema)+"\nbounds_from_data: true\n")
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	for _, c := range []struct{ args, want string }{
		{"train --data patients.csv --schema patients.yaml --delta 0.1 --yes --out delta.json", "delta = 0.1 is so large"},
		{"train --data patients.csv --schema drafted.yaml --out bounds.json", "BOUNDS NOT PRIVATE"},
		{"pairs train --data patients.csv --schema drafted.yaml --tuple 4 --loss triplet --out triplet.json",
			"BOUNDS NOT PRIVATE"},
		{"evaluate delta.json --data patients.csv --epsilon 1 --delta 0.2", "delta = 0.2 is so large"},
	} {
		told := ""
		var out, errs bytes.Buffer
		code := runHooked(context.Background(), strings.Fields(c.args), strings.NewReader(""), &out, &errs,
			reach("charged", func() { told = errs.String() }))
		if code != exitOK || strings.Count(told, c.want) != 1 {
			t.Errorf("dyad %s: exit %d; before the charge it said %q, want %q", c.args, code, told, c.want)
		}
		if bounds := strings.HasPrefix(c.want, "BOUNDS"); bounds != strings.Contains(out.String(),
			"guarantee   BOUNDS NOT PRIVATE") {
			t.Errorf("dyad %s: the guarantee is %s", c.args, out.String())
		}
	}
	ran(t, dir, "ledger", "show", "--delta", "1e-6").exits(exitOK).prints("moments: (1, 0.1)-differentially private",
		"at delta 1e-06").counts(2, "RANGES FROM THE DATA: this guarantee does not hold")
}

// TestBriefReports: without --verbose a command prints a line about what was made, the guarantee
// with epsilon, delta and unit, and the next step; with it the whole derivation.
func TestBriefReports(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 300)
	write(t, dir, "settings.yaml", searchSettings)
	for _, c := range []struct {
		args  string
		lines int
		full  string // what only the whole report says
	}{
		{"train --data patients.csv --schema patients.yaml --out m.json", 3, "assumes: "},
		{"train --data patients.csv --schema patients.yaml --task metric --out metric.json", 3, "assumes: "},
		{"train --data patients.csv --schema patients.yaml --public-data --holdout 0.3 --out public.json", 4, "time "},
		{"pairs train --data patients.csv --schema patients.yaml --all-pairs --out pairs.json", 3, "assumes: "},
		{"evaluate m.json --data patients.csv --epsilon 1 --out figures.json", 3, "assumes: "},
		{"evaluate m.json --data patients.csv --exact-figures", 3, "accuracy"},
		{"predict m.json --data patients.csv --out scores.csv", 3, ""},
		{"search --candidates settings.yaml --data patients.csv --schema patients.yaml --road compose --out chosen.json",
			3, "assumes: "},
	} {
		for _, verbose := range []bool{false, true} {
			args := strings.Fields(c.args)
			if verbose {
				args = append(args, "--verbose", "--force")
				if args[0] == "evaluate" && !strings.Contains(c.args, "--out") {
					args = args[:len(args)-1]
				}
			}
			code, out, errs := dyad(t, dir, args...)
			lines := strings.Count(out, "\n")
			if code != exitOK || !strings.Contains(out, "guarantee ") {
				t.Fatalf("dyad %v: exit %d: %s%s", args, code, out, errs)
			}
			if !verbose && (lines > c.lines || c.full != "" && strings.Contains(out, c.full) ||
				strings.Contains(out+errs, "CUDA")) || verbose && !strings.Contains(out, c.full) {
				t.Errorf("dyad %v: %d lines:\n%s%s", args, lines, out, errs)
			}
			if private := !strings.Contains(c.args, "public") && !strings.Contains(c.args, "exact"); !verbose && private &&
				!regexp.MustCompile(`epsilon = 1, delta = \S+ for one record: .* at most \d+ % success`).MatchString(out) {
				t.Errorf("dyad %v: no guarantee in words: %s", args, out)
			}
		}
	}
}
