package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// A draft shows how it reads each value; where two notations read one, both readings.
func TestDraftShowsRawAndRead(t *testing.T) {
	rows := "Patient;Wert;Leukozyten;Preis;Tag;Haus;Tod\n"
	for k := range 30 {
		rows += fmt.Sprintf("P%d;%d,5;%d.%03d;%d,%d €;%02d.03.2024;%s;%s\n", k/2, k, 1+k%9, 100+k, k, k, 1+k%28, []string{"Süd", "West"}[k%2], []string{"ja", "Ja", "nein"}[k%3])
	}
	rows += "P40;k.A.;9.999;1,5 €;28.03.2024;West;nein\n"
	d, err := Draft(writeFile(t, "shown.csv", rows), DraftOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range d.Columns {
		for _, s := range c.Samples {
			got[c.Name] += s.Raw + "=" + s.Read + ";"
		}
		if c.MayNamePersons != (c.Name == "Patient") || c.MayNamePersons && c.Persons != 16 {
			t.Errorf("%s names persons: %v, %d of them", c.Name, c.MayNamePersons, c.Persons)
		}
		if c.Name == "Tod" && !slices.Equal(c.Classes, []string{"Ja", "nein"}) {
			t.Errorf("classes %q", c.Classes)
		}
	}
	for name, want := range map[string]string{
		"Wert": "0,5=0.5;1,5=1.5;2,5=2.5;10,5=10.5;", "Leukozyten": "1.100=1100;2.101=2101;3.102=3102;", "Preis": "0,0 €=0;1,1 €=1.1;2,2 €=2.2;10,10 €=10.1;",
		"Tag": "01.03.2024=2024-03-01;02.03.2024=2024-03-02;03.03.2024=2024-03-03;", "Haus": "Süd=Süd;West=West;",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	d, err = Draft(writeFile(t, "two.csv", "x;z;y\n1.234;1;0\n12.345;2;1\n3;3;0\n"), DraftOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Columns[0]; !c.Asks || fmt.Sprint(c.Samples) != "[{1.234 1.234 or 1234} {12.345 12.345 or 12345} {3 3}]" {
		t.Errorf("two readings: %v %v", c.Asks, c.Samples)
	}
}

// The code book knows quantities by their names in three languages, in the unit of the name, of the values or of
// the usual value nearest to their mean; what it suggests is an answer by the rules of a schema.
func TestCodeBook(t *testing.T) {
	column := func(v float64, suffix string) *columnStats {
		s := newColumnStats()
		for k := range 20 {
			s.add([]byte(fmt.Sprintf("%.3f%s", v*(.9+.01*float64(k)), suffix)))
		}
		s.settle(parse.PointForm, true, true)
		return s
	}
	for _, c := range []struct {
		name   string
		mean   float64
		suffix string
		want   string
	}{
		{"Alter", 60, "", "age: 0 to 120 years"}, {"âge (ans)", 60, "", "age: 0 to 120 years"}, {"Alter (Monate)", 60, "", "age: 0 to 1440 months"},
		{"Körpergröße", 1.7, "", "height: 0.3 to 2.5 m"}, {"height_cm", 171, "", "height: 30 to 250 cm"}, {"Gewicht", 80, " kg", "weight: 0.3 to 400 kg"},
		{"Kreatinin [µmol/l]", 1.1, "", "creatinine: 0 to 2700 µmol/l, log1p"}, {"Créatinine", 88, "", "creatinine: 0 to 2700 µmol/l, log1p"}, {"creatinine", 1.1, "", "creatinine: 0 to 30 mg/dl, log1p"},
		{"Leukozyten", 7, "", "leukocytes: 0 to 500 G/l, log1p"}, {"Leukozyten", 7000, "", "leukocytes: 0 to 500000 /µl, log1p"}, {"Plaquettes", 240000, "", "platelets: 0 to 3e+06 /µl, log1p"},
		{"HDL-Cholesterin", 1.3, "", "HDL cholesterol: 0.02 to 5.2 mmol/l"}, {"pression systolique", 120, "", "systolic blood pressure: 30 to 300 mmHg"},
		{"Fréquence cardiaque", 80, "", "heart rate: 0 to 300 /min"}, {"Hb", 8.2, "", "haemoglobin: 0.5 to 19 mmol/l"}, {"HbA1c", 6, " %", "haemoglobin A1c: 2 to 25 %"},
		{"language", 3, "", ""}, {"Kreatinin (Fässer)", 1, "", ""}, {"Gewicht", 80, " Stein", ""}, {"Wert", 5, "", ""},
	} {
		got := ""
		if s := suggest(&draftColumn{Column: Column{Name: c.name}}, column(c.mean, c.suffix)); s != nil {
			got = s.Quantity + ": " + s.Text()
		}
		if got != c.want {
			t.Errorf("%s, mean %v%s: %q, want %q", c.name, c.mean, c.suffix, got, c.want)
		}
	}
	names := map[string]string{}
	for _, q := range codeBook {
		for _, u := range q.units {
			a := Answer{Range: []float64{u.lo, u.hi}}
			if q.log {
				a.Transform = schema.TransformLog1p
			}
			if err := a.Check(q.name); err != nil || !(u.lo < u.mid && u.mid < u.hi) {
				t.Errorf("%s in %q: %v, usual value %v", q.name, u.units, err, u.mid)
			}
		}
		for name := range strings.SplitSeq(q.words, ",") {
			if names[name] != "" && names[name] != q.name || name != strings.ToLower(name) {
				t.Errorf("%q is %s and %s", name, names[name], q.name)
			}
			names[name] = q.name
		}
	}
	for texts, want := range map[string]string{"ja nein": "ja, nein", "Nein": "Ja, Nein", "M W": "M, W, D", "ja Nein": "", "weiblich": "männlich, weiblich, divers", "Süd West": ""} {
		got := ""
		if s := suggestTexts(strings.Fields(texts)); s != nil {
			got = s.Text()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", texts, got, want)
		}
	}
}
