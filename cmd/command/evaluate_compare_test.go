package command

import (
	"fmt"
	"math"
	"testing"
)

// TestCompareTwoModels: the private difference is charged, agrees with the exact one within its
// interval, and a model does not differ from itself.
func TestCompareTwoModels(t *testing.T) {
	dir := clinic(t, 2500)
	from := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--quiet"}
	for name, more := range map[string][]string{"a.json": {"--epsilon", "4"},
		"b.json": {"--epsilon", "0.3", "--algorithm", "dpgdsc"}, "metric.json": {"--task", "metric", "--algorithm", "moment-metric"}} {
		mustRun(t, dir, append(append([]string{"train", "--out", name}, from...), more...)...)
	}
	compare := []string{"evaluate", "compare", "a.json", "--with", "b.json", "--data", "patients.csv"}
	exact := decoded[differenceResult](t, dir, append(compare, "--exact-figures", "--json")...)
	if exact.Low == nil || *exact.Low > exact.Difference || exact.Records != 2500 {
		t.Fatalf("%+v", exact)
	}
	private := decoded[privateResult](t, dir, append(compare, "--epsilon", "8", "--seed", "1", "--json")...)
	if private.Figures.Difference == nil {
		t.Fatalf("%+v", private)
	}
	f := private.Figures
	if math.Abs(f.Difference.Value-exact.Difference) > 5*f.DifferenceNoise || f.DifferenceNoise <= 0 || f.AUC != nil ||
		private.Guarantee.Epsilon > 8 || private.Guarantee.Epsilon < 7.9 {
		t.Errorf("private %+v, exact %+v", f.Difference, exact)
	}
	ends(t, dir, exitOK, "minus AUC of the other:", append(compare, "--epsilon", "8", "--seed", "1")...)
	ends(t, dir, exitOK, "+0.000000", "evaluate", "compare", "a.json", "--with", "a.json", "--data", "patients.csv",
		"--exact-figures")
	ends(t, dir, exitOK, "no budget was charged", "evaluate", "compare", "a.json", "--with", "b.json", "--plan", "-n",
		"1000", "--epsilon", "1")
	for want, args := range map[string][]string{
		"a metric has no scores": {"evaluate", "compare", "a.json", "--with", "metric.json", "--data",
			"patients.csv", "--epsilon", "1"},
		"dyad evaluate private has it":     append(compare, "--epsilon", "1", "--mean-loss"),
		"exclude each other":               append(compare, "--epsilon", "1", "--exact-figures"),
		"takes no --report and no --track": append(compare, "--public-data", "--report", "p.html"),
		"missing flags: --with":            {"evaluate", "compare", "a.json", "--data", "patients.csv"},
		"cannot read": {"evaluate", "compare", "a.json", "--with", "none.json", "--data", "patients.csv",
			"--epsilon", "1"},
	} {
		ends(t, dir, exitInput, want, args...)
	}
}

// TestCompareOnRowsOfPersons: rows of a person are not independent, so an exact difference takes them together, or has no
// interval where a model does not know the persons. A split that is not that of the training is noticed.
func TestCompareOnRowsOfPersons(t *testing.T) {
	dir := clinic(t, 100)
	head := "data_id: p\ncsv: {header: true}\ncolumns:\n  - {name: a, range: [0, 100]}\n  - {name: y, role: label, positive: 1}\n"
	rows := "who,a,b,y\n"
	for i := range 120 {
		rows += fmt.Sprintf("p%d,%d,%d,%d\n", i%30, i%30*37%91+i%4, i%30%2*20+i%30*53%71, i%30%2)
	}
	write(t, dir, "p.csv", rows)
	for name, more := range map[string]string{"a": "  - {name: b, role: ignore}\n", "b": "  - {name: b, range: [0, 100]}\n"} {
		write(t, dir, name+".yaml", "persons: 30\nmax_rows_per_person: 4\n"+head+"  - {name: who, role: person}\n"+more)
		write(t, dir, name+"-rows.yaml", head+"  - {name: who, role: ignore}\n"+more)
	}
	for _, s := range []string{"a", "b", "a-rows", "b-rows"} {
		mustRun(t, dir, "train", "--data", "p.csv", "--schema", s+".yaml", "--public-data", "--epsilon", "100", "--seed",
			"1", "--out", s+".json", "--quiet")
	}
	compare := func(one, two string, more ...string) differenceResult {
		return decoded[differenceResult](t, dir, append([]string{"evaluate", "compare", one + ".json", "--with", two + ".json",
			"--data", "p.csv", "--public-data", "--json"}, more...)...)
	}
	persons, single := compare("a", "b"), compare("a-rows", "b-rows")
	if persons.Records != 30 || persons.Unit != "person" || persons.Low == nil || single.Records != 120 ||
		*persons.High-*persons.Low < 1.5*(*single.High-*single.Low) {
		t.Errorf("persons %+v (%v to %v), rows %+v (%v to %v)", persons, *persons.Low, *persons.High, single, *single.Low,
			*single.High)
	}
	if got := compare("b", "a"); math.Abs(got.Difference+persons.Difference) > 1e-12 {
		t.Errorf("%v and %v in the other order", persons.Difference, got.Difference)
	}
	// The data of a model with query groups are sorted by them, so scores of one row would be paired with the label of another.
	write(t, dir, "g.yaml", head+"  - {name: who, role: ignore}\n  - {name: b, role: group}\n")
	mustRun(t, dir, "train", "--data", "p.csv", "--schema", "g.yaml", "--public-data", "--out", "g.json", "--quiet")
	for other, flag := range map[string]string{"g.json": "--epsilon=1", "./g.json": "--public-data", "b.json": "--public-data"} {
		ends(t, dir, exitInput, "different query groups", "evaluate", "compare", "a-rows.json", "--with", other, "--data", "p.csv",
			flag)
	}
	ends(t, dir, exitInput, "same classes, query groups", "search", "--models", "a-rows.json,g.json", "--data", "p.csv",
		"--schema", "a-rows.yaml", "--public-data")
	ran(t, dir, "evaluate", "exact", "a.json", "--data", "p.csv", "--holdout", "0.3", "--public-data").exits(exitOK).
		warns("trained on 30 persons, but this --holdout leaves 21")
}
