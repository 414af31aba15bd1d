package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// means are the mean AUC of each number of persons and method in a raw file, and how many there are.
func means(t *testing.T, text string) (auc map[string]float64, of map[string]int) {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	rows := must.Get(r.ReadAll())(t)
	auc, of = map[string]float64{}, map[string]int{}
	for _, row := range rows[1:] {
		x := must.Get(strconv.ParseFloat(row[8], 64))(t)
		key := row[0] + " " + row[1]
		auc[key] += x
		of[key]++
	}
	for key := range auc {
		auc[key] /= float64(of[key])
	}
	return auc, of
}

// TestCompare: the models learn, and protecting a person as 40 rows in a group costs most.
func TestCompare(t *testing.T) {
	var b strings.Builder
	b.WriteString("persons,method,algorithm,units,epsilon,delta,file,draw,auc\n")
	must.Do(t, compare(&b, 3000, 1, 2, 1))
	auc, of := means(t, b.String())
	persons, groups := auc["3000 persons"], auc["3000 rows in groups of 40"]
	if persons < groups+0.05 || auc["3000 one row of each person"] < groups+0.05 || auc["3000 no privacy"] < 0.7 || of["3000 persons"] != 2 || of["3000 no privacy"] != 1 {
		t.Errorf("%v %v", auc, of)
	}
}

// TestReadmeHasTheNumbersOfTheRawFile: the table of docs/persons.md is made of the means of
// bench/results/hospital-road.csv.
func TestReadmeHasTheNumbersOfTheRawFile(t *testing.T) {
	raw := must.Get(os.ReadFile("../results/hospital-road.csv"))(t)
	readme := must.Get(os.ReadFile("../../docs/persons.md"))(t)
	auc, of := means(t, string(raw))
	for persons, shown := range map[string]string{"70000": "70,000", "7000": "7,000", "700": "700"} {
		row := "| " + shown
		for _, method := range []string{"persons", "one row of each person", "rows in groups of 40", "rows alone", "no privacy"} {
			if of[persons+" "+method] == 0 {
				t.Fatalf("no %s of %s persons", method, persons)
			}
			row += fmt.Sprintf(" | %.3f", auc[persons+" "+method])
		}
		if row += " |\n"; !strings.Contains(string(readme), row) {
			t.Errorf("docs/persons.md has no row %s", row)
		}
	}
}
