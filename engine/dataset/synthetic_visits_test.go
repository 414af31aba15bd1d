package dataset

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// personAUCByDefinition visits every pair of rows of different persons.
func personAUCByDefinition(scores []float64, positive []bool, whose, count []int) float64 {
	var right, all float64
	for i, p := range whose {
		for j, q := range whose {
			if p == q || !positive[i] || positive[j] {
				continue
			}
			w := 1 / float64(count[p]*count[q])
			all += w
			switch {
			case scores[i] > scores[j]:
				right += w
			case scores[i] == scores[j]:
				right += w / 2
			}
		}
	}
	return right / all
}

func TestPersonAUCEqualsDefinition(t *testing.T) {
	c := newCoins(3, 99)
	for range 20 {
		count, whose := make([]int, 9), []int(nil)
		for i := range 40 {
			p := int(c.below(9))
			if i < 9 {
				p = i
			}
			whose, count[p] = append(whose, p), count[p]+1
		}
		scores, positive := make([]float64, 40), make([]bool, 40)
		for i := range scores {
			scores[i], positive[i] = float64(c.below(8)), c.below(3) == 0
		}
		must.Near(t, personAUC(scores, positive, whose, count), personAUCByDefinition(scores, positive, whose, count), 1e-12, "AUC of persons")
	}
}

// TestVisits: the file is what its schema declares, in both encodings and drafted from the answers;
// parts have other persons, and the score that drew the labels is near its stated AUC.
func TestVisits(t *testing.T) {
	v := Visits{Persons: 700, Rows: 1000, MaxRows: 40, Seed: 5}
	load := func(v Visits, schema string) (*Dataset, []byte, float64) {
		t.Helper()
		text, auc := must.Get2(v.Generate())(t)
		s := mustSchema(t, schema)
		d := must.Get(LoadReader("visits", bytes.NewReader(text), s, Options{Persons: KeepPersons}))(t)
		return d, text, auc
	}
	d, text, auc := load(v, v.Schema())
	most := 0
	for k := range d.Records.Units() {
		from, to := d.Records.UnitRows(k)
		most = max(most, to-from)
	}
	if d.Records.Units() != v.Persons || d.Records.Len() != v.Rows || most != v.MaxRows || d.Schema().Public || d.Schema().RangesFromData() {
		t.Errorf("%d persons, %d rows, up to %d", d.Records.Units(), d.Records.Len(), most)
	}
	must.Within(t, auc, .65, .85, "AUC of the generator")
	for _, want := range []string{"PAT-", "pat-", "Pat-", " %;", "männlich", ";;", ".2019;"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the file lacks %q", want)
		}
	}
	latin := v
	latin.Windows1252 = true
	if other, bytesOf, _ := load(latin, latin.Schema()); !slices.Equal(other.Records.Dense(), d.Records.Dense()) || bytes.Contains(bytesOf, []byte("ä")) || !bytes.Contains(bytesOf, []byte{'m', 0xe4, 'n'}) {
		t.Error("the records in Latin-1 are others")
	}
	path := writeFile(t, "visits.csv", text)
	answers := must.Get(ParseAnswers([]byte(v.Answers())))(t)
	draft, err := Draft(path, DraftOptions{Label: visitsLabel, Positive: visitsPositive, Answers: answers})
	if err != nil || len(draft.FromData) > 0 {
		t.Fatalf("%v, from the data: %v", err, draft)
	}
	if other, _, _ := load(v, string(draft.Schema)); !slices.Equal(other.Records.Dense(), d.Records.Dense()) || other.Records.Units() != v.Persons {
		t.Error("the drafted schema gives other records")
	}
	later := v
	later.Part = 1
	if other, bytesOf, _ := load(later, later.Schema()); other.Schema().DataID == d.Schema().DataID || strings.Contains(string(bytesOf), "Pat-00") {
		t.Error("the parts have persons in common")
	}
	if again, _, _ := v.Generate(); !bytes.Equal(again, text) {
		t.Error("the same seed gives another file")
	}
}

func TestVisitsRefusals(t *testing.T) {
	for _, v := range []Visits{{Persons: 1, Rows: 1, MaxRows: 1}, {Persons: 5, Rows: 4, MaxRows: 2}, {Persons: 5, Rows: 11, MaxRows: 2}, {Persons: 5, Rows: 5}, {Persons: 5, Rows: 5, MaxRows: 5000}, {Persons: 5, Rows: 5, MaxRows: 1, Part: 100}} {
		if _, _, err := v.Generate(); err == nil {
			t.Errorf("%+v was accepted", v)
		}
	}
	if text, _, err := (Visits{Persons: 5, Rows: 10, MaxRows: 2}).Generate(); err != nil || bytes.Count(text, []byte("\n")) != 11 {
		t.Errorf("full persons: %v", err)
	}
}

// TestDraftOfPersons: an answer about persons becomes the lines of a schema; half of one is refused.
func TestDraftOfPersons(t *testing.T) {
	path := writeFile(t, "v.csv", "who,age,ill\na,1,y\nb,2,n\na,3,n\n")
	for answer, want := range map[string]string{
		"who: {role: person, persons: 2, max_rows_per_person: 7}": "persons: 2\nmax_rows_per_person: 7\n",
		"who: {role: person, ids: public}":                        "ids: \"public\"\n",
		"who: {role: person}":                                     "add persons: N",
		"age: {range: [0, 9], persons: 2}":                        "need role: person",
	} {
		answers := must.Get(ParseAnswers([]byte(answer)))(t)
		draft, err := Draft(path, DraftOptions{Answers: answers})
		var text string
		if err != nil {
			text = err.Error()
		} else {
			text = string(draft.Schema)
		}
		must.Contain(t, text, want)
	}
}
