//go:build linux

package command

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset"
	"dyad/internal/must"
)

// conversation is what happened at a terminal.
type conversation struct {
	code           int
	stdout, screen string
}

// converse runs the program with a terminal as standard input and standard error, where a person has typed lines.
func converse(t *testing.T, dir string, lines []string, args ...string) (c conversation) {
	t.Helper()
	t.Chdir(dir)
	person, program := terminal(t)
	seen := make(chan string)
	go func() {
		var all bytes.Buffer
		for buffer := make([]byte, 1<<12); ; {
			n, err := person.Read(buffer)
			all.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		seen <- all.String()
	}()
	typed := strings.Join(lines, "\n") + "\n\x04" // the end of the input
	must.Get(person.WriteString(typed))(t)
	var out bytes.Buffer
	c.code = run(context.Background(), args, program, &out, program)
	program.Close()
	c.stdout, c.screen = out.String(), <-seen
	return c
}

// export is a hospital's file as a spreadsheet in one language writes it, untouched: title, foreign texts among numbers,
// decimal commas, thousands, capitals of the outcome, several rows of a person, with what its columns hold.
type export struct {
	header, title     string
	row               func(r *rand.Rand, person int) string
	persons           int
	min, max          map[string]float64 // of columns, as the generator drew them
	outcome, positive string
}

// number writes a number with a decimal comma and a sign of thousands, or now and then a text for missing.
func (e *export) number(r *rand.Rand, name string, v float64, digits int, thousands, missing string) string {
	if r.IntN(25) == 0 {
		return missing
	}
	text := fmt.Sprintf("%.*f", digits, v)
	fmt.Sscan(text, &v)
	if _, ok := e.min[name]; !ok {
		e.min[name], e.max[name] = v, v
	}
	e.min[name], e.max[name] = min(e.min[name], v), max(e.max[name], v)
	whole, fraction, ok := strings.Cut(text, ".")
	if len(whole) > 3 {
		whole = whole[:len(whole)-3] + thousands + whole[len(whole)-3:]
	}
	if ok {
		whole += "," + fraction
	}
	return whole
}

func (e *export) write(t *testing.T, dir, name string) {
	r := rand.New(rand.NewPCG(41, uint64(len(e.header))))
	var b strings.Builder
	b.WriteString("\ufeff" + e.title + "\r\n" + e.header + "\r\n")
	seen := map[int]bool{}
	for range 3000 {
		person := 710000 + r.IntN(1400)
		seen[person] = true
		b.WriteString(e.row(r, person) + "\r\n")
	}
	e.persons = len(seen)
	write(t, dir, name, b.String())
}

func german() *export {
	e := &export{title: "Klinikum Mitte, Export vom 12.03.2024;;;;;;;;;;;", outcome: "Verstorben", positive: "ja", min: map[string]float64{}, max: map[string]float64{},
		header: "Patientennummer;Alter;Geschlecht;Größe (cm);Gewicht (kg);Kreatinin;Leukozyten;CRP;Raucher;Abteilung;Aufnahme;Verstorben"}
	pick := func(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }
	e.row = func(r *rand.Rand, person int) string {
		return fmt.Sprintf("%d;%d;%s;%d;%s;%s;%s;%s;%s;%s;%02d.%02d.2022;%s", person, 18+r.IntN(80), pick(r, "m", "w"), 150+r.IntN(50),
			e.number(r, "Gewicht (kg)", 45+70*r.Float64(), 1, ".", "k.A."), e.number(r, "Kreatinin", .4+2*r.ExpFloat64(), 2, ".", "-"),
			e.number(r, "Leukozyten", 2000+6000*r.ExpFloat64(), 0, ".", "k.A."), e.number(r, "CRP", 30*r.ExpFloat64(), 1, ".", "k.A."),
			pick(r, "ja", "nein"), pick(r, "Innere", "Chirurgie", "Neurologie"), 1+r.IntN(28), 1+r.IntN(12), pick(r, "Ja", "ja", "Nein", "nein", "nein"))
	}
	return e
}

func french() *export {
	e := &export{title: "Hôpital Sud, export du 12/03/2024;;;;;;;;;;;", outcome: "Décès", positive: "oui", min: map[string]float64{}, max: map[string]float64{},
		header: "N° patient;Âge;Sexe;Taille;Poids;Créatinine;Plaquettes;Glycémie;Fumeur;Service;Entrée;Décès"}
	pick := func(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }
	e.row = func(r *rand.Rand, person int) string {
		return fmt.Sprintf("%d;%d;%s;%s;%s;%s;%s;%s;%s;%s;%02d/%02d/2022;%s", person, 18+r.IntN(80), pick(r, "H", "F"),
			e.number(r, "Taille", 1.5+.5*r.Float64(), 2, "\u202f", "NC"), e.number(r, "Poids", 45+70*r.Float64(), 1, "\u202f", "NC"),
			e.number(r, "Créatinine", 50+60*r.ExpFloat64(), 1, "\u202f", "n.d."), e.number(r, "Plaquettes", 90000+99000*r.ExpFloat64(), 0, "\u202f", "-"),
			e.number(r, "Glycémie", 3.5+3*r.ExpFloat64(), 2, "\u202f", "NC"), pick(r, "oui", "non"), pick(r, "Médecine", "Chirurgie", "Réanimation"),
			1+r.IntN(28), 1+r.IntN(12), pick(r, "Oui", "oui", "Non", "non", "non"))
	}
	return e
}

// TestStartTurnsRawExportsIntoSchemas: a German and a French export of 3,000 rows, untouched, become a schema of which every range is
// public, with at most six answers; the values are those that the generator wrote; and the recipe trains.
func TestStartTurnsRawExportsIntoSchemas(t *testing.T) {
	for name, e := range map[string]*export{"german": german(), "french": french()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
			e.write(t, dir, "raw.csv")
			wards := map[string]string{"german": "Innere, Chirurgie, Neurologie, Urologie", "french": "Médecine, Chirurgie, Réanimation"}[name]
			answers := []string{e.outcome, "", fmt.Sprint(e.persons), "y", wards, "2010-01-01 2030-12-31"}
			if len(answers) > 6 {
				t.Fatalf("%d answers", len(answers))
			}
			c := converse(t, dir, answers, "start", "raw.csv")
			if c.code != exitOK || !strings.Contains(c.stdout, "every range in the schema comes from an answer") {
				t.Fatalf("exit %d: %s\n%s", c.code, c.stdout, c.screen)
			}
			for _, shown := range []string{"in the file", "k.A.", "(missing)"} {
				if name == "german" && !strings.Contains(c.screen, shown) {
					t.Errorf("the terminal does not show %q:\n%s", shown, c.screen)
				}
			}
			s := must.Get(dataset.LoadSchema(filepath.Join(dir, "raw.yaml")))(t)
			if s.RangesFromData() || s.Persons != e.persons {
				t.Errorf("ranges from the data: %v; persons: %d, want %d", s.RangesFromData(), s.Persons, e.persons)
			}
			features := 0
			for _, column := range s.Columns {
				switch column.Role {
				case "":
					features++
				case dataset.RoleLabel:
					if column.Name != e.outcome || !strings.EqualFold(column.Positive, e.positive) || !column.Fold {
						t.Errorf("label %+v", column)
					}
				}
			}
			if features != 10 {
				t.Errorf("%d features, want 10:\n%s", features, c.screen)
			}
			d := must.Get(dataset.Load(filepath.Join(dir, "raw.csv"), s, dataset.Options{Persons: dataset.IgnorePersons}))(t)
			must.Equal(t, d.Records.Len(), 3000, "rows")
			m := must.Get(dataset.Summarize(filepath.Join(dir, "raw.csv"), s, dataset.Options{}))(t)
			for _, column := range m.Columns {
				if low, ok := e.min[column.Name]; ok && (column.Min != low || column.Max != e.max[column.Name]) {
					t.Errorf("%s from %v to %v, want %v to %v", column.Name, column.Min, column.Max, low, e.max[column.Name])
				}
			}
			ends(t, dir, exitOK, "for one person", "train", "--config", "raw-train.yaml")
		})
	}
}

// TestStartShowsValuesOnATerminalOnly: without a terminal nothing is asked and no value of the file is written but to the
// schema, which is the draft of data schema; with one, standard output has none either.
func TestStartShowsValuesOnATerminalOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "h.csv", strings.ReplaceAll(hospital, "7001", "7391"))
	clock := regexp.MustCompile(`"time":"[^"]*"`) // has digits of its own
	secrets := []string{"7391", "7002", "104", "1.188", "1188", "99,25", "58", "03.02", "2021", "2022-"}
	check := func(what, text string) {
		t.Helper()
		for _, s := range secrets {
			if strings.Contains(clock.ReplaceAllString(text, ""), s) {
				t.Errorf("%s has %s of the data:\n%s", what, s, text)
			}
		}
	}
	answers := []string{"--label", "Verstorben", "--positive", "ja"}
	draft := mustRun(t, dir, append([]string{"data", "schema", "h.csv"}, answers...)...)
	for _, more := range [][]string{nil, {"--json"}, {"--log-format", "json"}, {"--verbose"}} {
		out, errs := ran(t, dir, append(append([]string{"start", "h.csv", "--force"}, answers...), more...)...).exits(exitOK).warns("no questions are asked").texts()
		check("standard output", out)
		check("standard error", errs)
		text, err := os.ReadFile(filepath.Join(dir, "h.yaml"))
		if unnamed := regexp.MustCompile(`(?m)^draft: .*\n`); err != nil || unnamed.ReplaceAllString(string(text), "") != unnamed.ReplaceAllString(draft, "") { // the name is drawn
			t.Errorf("%v: the schema is not the draft of data schema: %v\n%s", more, err, text)
		}
	}
	ends(t, dir, exitInput, "--answers FILE", "data", "schema", "h.csv", "--ask")
	c := converse(t, dir, []string{"Verstorben"}, "start", "h.csv", "--force", "--json")
	if check("standard output", c.stdout); c.code != exitOK || !strings.Contains(c.screen, "1.188,0") || !strings.Contains(c.screen, "1188") {
		t.Errorf("exit %d: the terminal does not show values and readings:\n%s", c.code, c.screen)
	}
	// Standard error is a file: nothing may be shown, although a person could answer.
	t.Chdir(dir)
	person, program := terminal(t)
	defer program.Close()
	must.Get(person.WriteString("Verstorben\n\x04"))(t)
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"start", "h.csv", "--force"}, program, &stdout, &stderr); code != exitOK {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	check("standard output", stdout.String())
	check("standard error in a file", stderr.String())
}

// TestWhatIsNotAnsweredStaysMarked: a range without an answer is that of the data, and says so until the last answer.
func TestWhatIsNotAnsweredStaysMarked(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "h.csv", hospital)
	for _, c := range []struct {
		name   string
		lines  []string
		marked []string
	}{
		{"three answers", []string{"Verstorben", "", "Glukose, Geschlecht, Raucher"}, []string{"Geschlecht", "Glukose", "Anteil", "Aufnahme", "Raucher"}},
		{"slips, then the rest", []string{"Alter", "Verstorben", "vielleicht", "ja", "Glucose", "n", "18 110", "f", "f, m, d", "0,5 2000", "0 2000", "0 100", "2024-01-01 2015-01-01", "2015-01-01 2024-12-31", "y"}, nil},
	} {
		talk := converse(t, dir, c.lines, "data", "schema", "h.csv", "--ask", "--out", "asked.yaml", "--force")
		if talk.code != exitOK {
			t.Fatalf("%s: exit %d: %s", c.name, talk.code, talk.screen)
		}
		s := must.Get(dataset.LoadSchema(filepath.Join(dir, "asked.yaml")))(t)
		var marked []string
		for _, column := range s.Columns {
			if column.FromData {
				marked = append(marked, column.Name)
			}
		}
		if !slices.Equal(marked, c.marked) || s.RangesFromData() != (c.marked != nil) {
			t.Errorf("%s: marked %q, want %q\n%s", c.name, marked, c.marked, talk.screen)
		}
		code, out, errs := dyad(t, dir, "plan", "-n", "4", "--schema", "asked.yaml")
		if code != exitOK || strings.Contains(out, "BOUNDS NOT PRIVATE") != (c.marked != nil) {
			t.Errorf("%s: exit %d: %s%s", c.name, code, out, errs)
		}
	}
}

// TestAnswersGiveAllThatIsAsked: a file in the place of the questions leads to the schema that the answers give.
func TestAnswersGiveAllThatIsAsked(t *testing.T) {
	dir := t.TempDir()
	rows := "Patient;Wert;Alter;Tod\n"
	for k := range 40 {
		rows += fmt.Sprintf("P%d;%d.%03d;%d;%s\n", k/2, 1+k%7, 100+k, 20+k, []string{"ja", "nein"}[k%2])
	}
	write(t, dir, "raw.csv", rows)
	c := converse(t, dir, []string{"comma", "nein", "20 3", "y", "0 100000"}, "start", "raw.csv", "--out", "asked.yaml")
	if c.code != exitOK {
		t.Fatalf("exit %d: %s", c.code, c.screen)
	}
	write(t, dir, "known.yaml", "Wert: {decimal: \",\", range: [0, 100000]}\nTod: {role: label, positive: nein}\nPatient: {role: person, persons: 20, max_rows_per_person: 3}\nAlter: {range: [0, 120]}\n")
	mustRun(t, dir, "start", "raw.csv", "--answers", "known.yaml", "--out", "known-schema.yaml")
	asked := must.Get(os.ReadFile(filepath.Join(dir, "asked.yaml")))(t)
	known := must.Get(os.ReadFile(filepath.Join(dir, "known-schema.yaml")))(t)
	if string(asked) != string(known) || strings.Contains(string(asked), "from_data: true") {
		t.Errorf("asked:\n%s\nby a file:\n%s\n%s", asked, known, c.screen)
	}
	for answers, want := range map[string]string{
		"Tod: {role: label, positive: vielleicht}\n":          `has no value "vielleicht"`,
		"Tod: {role: label}\nAlter: {role: label}\n":          "a file has only one label",
		"Tod: {role: label, positive: ja, range: [0, 1]}\n":   "only a label of kind: numeric may have a range",
		"Alter: {range: [0, 120], positive: ja}\n":            "only the label may have",
		"Alter: {role: ignore}\nPatient: {role: person}\n":    "add persons: N",
		"Patient: {role: person, persons: 20, ranges: [0]}\n": "ranges",
	} {
		write(t, dir, "bad.yaml", answers)
		ran(t, dir, "start", "raw.csv", "--answers", "bad.yaml", "--out", "never.yaml").exits(exitInput).warns(want).without("never.yaml")
	}
}
