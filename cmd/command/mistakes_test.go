package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset"
	"dyad/internal/must"
)

// mistake is a slip of somebody new, words of the answer to it, and a cure that the answer leads to.
type mistake struct {
	what, typed string
	files       map[string]string // that are there
	says        []string
	cure        string            // "" if there is no command to type
	cured       map[string]string // files that the cure changes
	none        string            // a text that the answer must not have
}

// TestMistakesHaveCures: each mistake is refused or, with an empty cure, done right; the answer has the words that lead to the
// cure, the cure works, and nothing is charged before.
func TestMistakesHaveCures(t *testing.T) {
	const plan = "plan -n 1000 --schema patients.yaml "
	const train = "train --data patients.csv --schema patients.yaml --out m.json --force "
	numbers := func(extra string) string {
		return "data_id: klinik\ncsv: {header: true, delimiter: \";\"" + extra +
			"}\ncolumns:\n  - {name: Gewicht, range: [1, 300]}\n  - {name: y, role: label, positive: 1, negative: 0}\n"
	}
	column := func(extra string) string {
		return strings.Replace(numbers(""), "range: [1, 300]", "range: [1, 300]"+extra, 1)
	}
	rows := func(values ...string) string {
		text := "Gewicht;y\n"
		for i, v := range values {
			text += fmt.Sprintf("%s;%d\n", v, i%2)
		}
		return text
	}
	inspect := func(what, csv, says, cure string) mistake {
		return mistake{what: what, typed: "data inspect k.csv --schema k.yaml",
			files: map[string]string{"k.csv": csv, "k.yaml": numbers("")}, says: []string{says, `row 2, column "Gewicht"`},
			none: "105,8", cure: "data inspect k.csv --schema k.yaml", cured: map[string]string{"k.yaml": cure}}
	}
	draft := func(what, csv string, says ...string) mistake {
		return mistake{what: what, typed: "data schema raw.csv --label y",
			files: map[string]string{"raw.csv": csv}, says: says}
	}
	clinical := dataset.SyntheticClinicalYAML()
	made := clinic(t, 200)
	mustRun(t, made, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--public-data",
		"--out", "model.json")
	model := read(t, made, "model.json")
	many := func(value string) string {
		text := "Nummer;Wert;y\n"
		for i := range 40 {
			digits := fmt.Sprintf("%d%d", i%9+1, i/9)
			text += fmt.Sprintf("%c%c;%s;%d\n", 'A'+i%26, 'a'+i/26, strings.ReplaceAll(value, "#", digits), i%2)
		}
		return text
	}
	for _, m := range append(naive(train, plan), []mistake{
		{what: "epsilon with a decimal comma", typed: plan + "--epsilon 1,5",
			says: []string{"--epsilon", "decimal point: 1.5"}, cure: plan + "--epsilon 1.5"},
		{what: "a share in percent", typed: train + "--holdout 20%", says: []string{"--holdout", "percent sign: 0.2"},
			cure: train + "--data-id a --holdout 0.2"},
		{what: "a share in percent with a comma", typed: train + "--holdout 12,5%", says: []string{"percent sign: 0.125"},
			cure: train + "--data-id b --holdout 0.125"},
		{what: "a blank for a point", typed: plan + "--epsilon 0.5 1",
			says: []string{"unexpected argument 1", "--epsilon 0.5", "one value"}, cure: plan + "--epsilon 0.5"},
		{what: "two values after an equals sign", typed: plan + "--epsilon=0.5 1",
			says: []string{"unexpected argument 1", "--epsilon=0.5", "one value"}, cure: plan + "--epsilon=0.5"},
		{what: "a number of records with thousands", typed: "plan -d 3 -n 1.000,5", says: []string{"want a whole number"},
			cure: "plan -d 3 -n 1000"},
		{what: "a file in the place of a command", typed: "patients.csv",
			says: []string{"there is no command patients.csv", "dyad start patients.csv"},
			cure: "start patients.csv --label outcome --out started.yaml"},
		{what: "a flag for persons", typed: train + "--person age", says: []string{"role: person"}, cure: train +
			"--data-id c"},
		{what: "a flag for the unit", typed: train + "--unit person", says: []string{"role: person"}, cure: train +
			"--data-id d"},
		{what: "a flag for the label", typed: train + "--target outcome", says: []string{"role: label"},
			cure: "data schema patients.csv --label outcome"},
		{what: "a flag for a range", typed: train + "--range 0,1",
			says: []string{"range or the categories", "dyad start FILE"}, cure: train + "--data-id e"},
		{what: "a key of a column", typed: "data check s.yaml",
			files: map[string]string{"s.yaml": strings.Replace(clinical, "range:", "ranges:", 1)},
			says:  []string{`unknown field "ranges"`, "did you mean range?"}, none: "not data",
			cure: "data check s.yaml", cured: map[string]string{"s.yaml": clinical}},
		{what: "a key of a schema", typed: "data check s.yaml",
			files: map[string]string{"s.yaml": strings.Replace(clinical, "columns:", "Columns:", 1)},
			says:  []string{"did you mean columns?"}, cure: "data check s.yaml", cured: map[string]string{"s.yaml": clinical}},
		{what: "a key of csv", typed: "data check s.yaml",
			files: map[string]string{"s.yaml": strings.Replace(numbers(""), "delimiter", "delimeter", 1)},
			says:  []string{"did you mean delimiter?"}, cure: "data check s.yaml",
			cured: map[string]string{"s.yaml": numbers("")}},
		{what: "a key that is like no other", typed: "data check s.yaml",
			files: map[string]string{"s.yaml": clinical + "wibbles: 1\n"}, says: []string{`unknown field "wibbles"`},
			none: "did you mean", cure: "data check s.yaml", cured: map[string]string{"s.yaml": clinical}},
		{what: "a key of answers", typed: "data schema patients.csv --answers k.yaml --label outcome",
			files: map[string]string{"k.yaml": "age: {categorys: [a, b]}\n"}, says: []string{"did you mean categories?"},
			cure:  "data schema patients.csv --answers k.yaml --label outcome",
			cured: map[string]string{"k.yaml": "age: {range: [0, 120]}\n"}},
		{what: "a decimal comma in a list", typed: "data schema patients.csv --answers k.yaml --label outcome",
			files: map[string]string{"k.yaml": "age: {range: [0,5, 110]}\n"},
			says:  []string{"3 numbers", "decimal point, as in [0.5, 110]"},
			cure:  "data schema patients.csv --answers k.yaml --label outcome",
			cured: map[string]string{"k.yaml": "age: {range: [0.5, 110]}\n"}},
		{what: "the wrong delimiter", typed: "data inspect k.csv --schema k.yaml",
			files: map[string]string{"k.csv": rows("80", "70", "60"),
				"k.yaml": strings.Replace(numbers(""), `, delimiter: ";"`, "", 1)}, says: []string{`csv: {delimiter: ";"}`},
			cure: "data inspect k.csv --schema k.yaml", cured: map[string]string{"k.yaml": numbers("")}},
		inspect("decimal commas", rows("105,8", "70,5", "60,1"), `decimal: ","`, numbers(`, decimal: ","`)),
		inspect("decimal commas, cured in the column", rows("105,8", "70,5", "60,1"), `decimal: ","`,
			column(`, decimal: ","`)),
		inspect("decimal commas and thousands", rows("1.105,8", "70,5", "60,1"), `thousands: "."`,
			numbers(`, decimal: ",", thousands: "."`)),
		inspect("a comma between thousands", rows("1,105", "70", "60"), `thousands: ","`, numbers(`, thousands: ","`)),
		inspect("an apostrophe between thousands", rows("1'105", "70", "60"), "set the key thousands",
			numbers(`, thousands: "'"`)),
		inspect("a blank between thousands", rows("1 105", "70", "60"), "or to the word space",
			numbers(`, thousands: space`)),
		inspect("a narrow blank between thousands", rows("1\u202f105", "70", "60"), "or to the word space",
			numbers(`, thousands: space`)),
		inspect("a unit", rows("105 kg", "70 kg", "60 kg"), "set suffix", column(`, suffix: kg`)),
		inspect("a currency", rows("€105", "€70", "€60"), "prefix", column(`, prefix: "€"`)),
		inspect("a unit and a comma", rows("105,8 kg", "70,5 kg", "60 kg"),
			"for a decimal comma, also set decimal", column(`, suffix: kg, decimal: ","`)),
		inspect("a word", rows("schwer", "70", "60"), "missing.values",
			column(`, missing: {values: [schwer], policy: middle}`)),
		{what: "a word among decimal commas", typed: "data inspect k.csv --schema k.yaml",
			files: map[string]string{"k.csv": rows("105,8", "k.A.", "60,1"), "k.yaml": numbers(`, decimal: ","`)},
			says:  []string{"list the value under missing.values", `row 3, column "Gewicht"`},
			none:  "k.A.", cure: "data inspect k.csv --schema k.yaml",
			cured: map[string]string{"k.yaml": column(`, decimal: ",", missing: {values: ["k.A."], policy: middle}`)}},
		draft("one foreign text in a column of decimal commas", many("2#,5")+"Zz;k.A.;0\n", `decimal: ","`,
			`values: ["k.A."]`),
		draft("amounts with a currency", many("#.450,00 €"), `suffix: "€"`, `thousands: "."`),
		draft("thin blanks between thousands", many("1#\u202f345,67"), `thousands: "space"`),
		{what: "the days of a date without their format", typed: "data schema raw.csv --label y --answers k.yaml",
			files: map[string]string{"raw.csv": many("11.03.19#"),
				"k.yaml": "Wert: {date: {from: 1900-01-01, to: 2024-12-31}}\n"},
			says: []string{`date: {format: "DD.MM.YYYY", from: 1900-01-01, to: 2024-12-31}}`}},
		{what: "persons as in a schema", typed: "data schema patients.csv --answers k.yaml --label outcome",
			files: map[string]string{"k.yaml": "persons: 200\n"}, says: []string{"line 1", "id: {role: person, persons: 900}"},
			cure:  "data schema patients.csv --answers k.yaml --label outcome",
			cured: map[string]string{"k.yaml": "age: {range: [0, 120]}\n"}},
		draft("empty rows at the end", many("#")+";;\n;;\n", "range: ["),
		draft("a column that splits the rows", strings.NewReplacer(";0\n", ";train;0\n", ";1\n", ";Test;1\n", "Wert;y",
			"Wert;part;y").Replace(many("#")), `{name: "part", role: ignore} # the values look like names of a split`),
		draft("a title above the header", "Klinikum;;\n"+many("#"), `comment: ["Klinikum"]`),
		draft("a label in several spellings", strings.ReplaceAll(strings.ReplaceAll(many("#"), ";0\n", ";Nein\n"), ";1\n",
			";ja\n")+"Zz;5;nein\n", "fold: true", `positive: "ja"`),
		{what: "two readings", typed: "start raw.csv --label y --out two.yaml",
			files: map[string]string{"raw.csv": "x;y\n1.234;0\n2.345;1\n3.456;0\n4.567;1\n"},
			says:  []string{"1.234 can be", "--decimal comma"}, cure: "start raw.csv --label y --decimal comma --out two.yaml"},
		{what: "questions without a terminal", typed: "data schema patients.csv --ask",
			says: []string{"needs a terminal", "--answers FILE"}, cure: "data schema patients.csv --label outcome"},
		{what: "one file for both results", typed: "start patients.csv --out a.yaml --recipe a.yaml",
			says: []string{"name two files"}, cure: "start patients.csv --label outcome --out a.yaml --recipe b.yaml"},
		{what: "a schema that ends as a table", typed: "start patients.csv --out a.csv", says: []string{"a.csv"},
			cure: "start patients.csv --label outcome --out a2.yaml"},
		{what: "a label that is not there", typed: "start patients.csv --label died --out a3.yaml",
			says: []string{`no column "died"`, "the columns are"}, cure: "start patients.csv --label outcome --out a3.yaml"},
	}...) {
		t.Run(m.what, func(t *testing.T) {
			dir := clinic(t, 200)
			t.Chdir(dir)
			for name, text := range m.files {
				write(t, dir, name, text)
			}
			write(t, dir, "model.json", model)
			table := read(t, dir, "patients.csv")
			header, rest, _ := strings.Cut(table, "\n")
			_, rest, _ = strings.Cut(rest, ",")
			write(t, dir, "huge.csv", header+"\n1000000000,"+rest)
			ledger := filepath.Join(dir, "state", "dyad", "ledger.jsonl")
			code, out, errs := dyad(t, dir, strings.Fields(m.typed)...)
			answer := out + errs
			must.Contain(t, answer, m.says...)
			if m.none != "" && strings.Contains(answer, m.none) {
				t.Errorf("dyad %s: the answer has %q:\n%s", m.typed, m.none, answer)
			}
			if want := map[bool]int{true: exitOK, false: exitInput}[m.cure == ""]; code != want {
				t.Errorf("dyad %s: exit %d, want %d:\n%s", m.typed, code, want, answer)
			}
			if text, err := os.ReadFile(ledger); err == nil && len(bytes.TrimSpace(text)) > 0 {
				t.Errorf("dyad %s: something was charged", m.typed)
			}
			if m.cure == "" {
				return
			}
			for name, text := range m.cured {
				write(t, dir, name, text)
			}
			mustRun(t, dir, strings.Fields(m.cure)...)
		})
	}
}

// TestNoHomeFolderIsAnUnavailableLedger: by the table of exit codes, and the answer names two cures.
func TestNoHomeFolderIsAnUnavailableLedger(t *testing.T) {
	dir := clinic(t, 60)
	t.Chdir(dir)
	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json"}
	if code, _, errs := hooked(t.Context(), hooks{}, args...); code != exitResource ||
		!strings.Contains(errs, "--ledger FILE") || !strings.Contains(errs, "XDG_STATE_HOME") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := hooked(t.Context(), hooks{}, append(args, "--ledger", "own.jsonl")...); code != exitOK {
		t.Errorf("the cure: exit %d: %s", code, errs)
	}
}
