package command

import (
	"os"
	"path/filepath"
	"testing"

	"dyad/engine/dataset"
)

// hospital is a file as a German spreadsheet writes it.
const hospital = `Nr;Alter;Geschlecht;Glukose;Anteil;Aufnahme;Raucher;Verstorben
7001;61;f;104,5;12,5%;03.02.2021;ja;nein
7002;58;m;1.188,0;7%;14.05.2021;nein;ja
7003;47;m;99,25;45%;28.12.2022;ja;nein
7004;52;f;97,0;3,25%;01.01.2023;nein;nein
`

// TestSchemaAssistant: a spreadsheet becomes a schema without a number misread or a label
// guessed; what was answered is public.
func TestSchemaAssistant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "h.csv", hospital)
	ran(t, dir, "data", "schema", "h.csv", "--out", "draft.yaml").exits(exitOK).warns("name the label column with --label: Geschlecht, Raucher, Verstorben")
	ends(t, dir, exitInput, "--force", "data", "schema", "h.csv", "--out", "draft.yaml")
	r := decoded[schemaResult](t, dir, "data", "schema", "h.csv", "--out", "draft.yaml", "--force", "--label", "Verstorben", "--json")
	if r.Label != "Verstorben" || r.LabelCandidates != nil || len(r.FromData) != 6 {
		t.Fatalf("%+v", r)
	}
	write(t, dir, "known.yaml", "Alter: {range: [18, 110]}\nGeschlecht: {categories: [f, m, d], unknown: other}\nGlukose: {range: [0, 2000]}\nAnteil: {range: [0, 100], suffix: \"%\"}\nAufnahme: {date: {format: DD.MM.YYYY, from: 2015-01-01, to: 2024-12-31}}\nRaucher: {role: ignore}\n")
	ends(t, dir, exitOK, "every range in the schema comes from an answer", "data", "schema", "h.csv", "--answers", "known.yaml", "--label", "Verstorben", "--positive", "ja", "--out", "known-schema.yaml")
	m := decoded[struct{ Columns []dataset.ColumnSummary }](t, dir, "data", "inspect", "h.csv", "--schema", "known-schema.yaml", "--json")
	if g := m.Columns[2]; g.Name != "Glukose" || g.Min != 97 || g.Max != 1188 {
		t.Errorf("glucose from %v to %v", g.Min, g.Max)
	}
	text, err := os.ReadFile(filepath.Join(dir, "known.yaml"))
	if err != nil || len(text) == 0 {
		t.Fatal(err)
	}
	ends(t, dir, exitInput, "input of this command", "data", "schema", "h.csv", "--answers", "known.yaml", "--out", "known.yaml", "--force")
}
