package drafts

import (
	"fmt"
	"strings"
	"testing"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/internal/must"
)

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
		if s := suggest(&draftColumn{Column: schema.Column{Name: c.name}}, column(c.mean, c.suffix)); s != nil {
			got = s.Quantity + ": " + s.Text()
		}
		must.Equal(t, got, c.want, "%s, mean %v%s", c.name, c.mean, c.suffix)
	}
	names := map[string]string{}
	for _, q := range codeBook {
		for _, u := range q.units {
			a := schema.Answer{Range: []float64{u.lo, u.hi}}
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
		must.Equal(t, got, want, "%q", texts)
	}
}
