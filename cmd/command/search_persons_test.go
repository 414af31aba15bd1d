package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const personSettings = `candidates:
  - name: default
  - {name: descent, algorithm: dpgdsc, steps: 3}
  - {name: age alone, features: [age], algorithm: moments}
`

// searchVisits are the arguments of a search among visits.
func searchVisits(more ...string) []string {
	return append([]string{"search", "--verbose", "--candidates", "settings.yaml", "--data", "visits.csv", "--schema", "declared.yaml", "--force"}, more...)
}

// All roads of a search protect persons: plan and report say so, in JSON, too, and no number of rows is
// printed. The winner is measured on the persons that were held out, and the schema says whose the records
// of released models are.
func TestSearchOfPersons(t *testing.T) {
	dir, count := visits(t, func(p int) int { return 1 + p*p%9 }, mixedVisit)
	write(t, dir, "settings.yaml", personSettings)
	told := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, count))
	for i, road := range []string{"compose", "random-stopping"} {
		name := fmt.Sprintf("m%d.json", i)
		code, plan, errs := dyad(t, dir, "search", "--candidates", "settings.yaml", "--schema", "declared.yaml", "--plan", "-n", "30", "--road", road)
		if code != exitOK || !strings.Contains(plan, "for one person") || !strings.Contains(plan, "n = 30 persons") || strings.Contains(plan, "one record replaced") {
			t.Errorf("plan of %s: exit %d: %s%s", road, code, plan, errs)
		}
		code, text, errs := dyad(t, dir, searchVisits("--road", road, "--holdout", "0.25", "--out", name, "--verbose")...)
		shared := regexp.MustCompile(`(?m)^guarantee .*$`)
		if code != exitOK || told.MatchString(text+errs) || shared.FindString(text) != shared.FindString(plan) || !strings.Contains(text, "10 of 40 were not used") {
			t.Errorf("%s: exit %d: %s%s", road, code, text, errs)
		}
		var r searchResult
		out := ran(t, dir, searchVisits("--road", road, "--holdout", "0.25", "--out", name, "--json")...).exits(exitOK).decode(&r).out
		if r.Guarantee.Unit != "one person" || r.Records != 30 || r.Heldout != 10 || (r.AUC != nil) != (road == "random-stopping") || told.MatchString(out) {
			t.Errorf("%s: %s", road, out)
		}
		command := strings.Fields(strings.Replace(r.Command, "--epsilon E", "--epsilon 1", 1))
		ran(t, dir, command[1:]...).exits(exitOK).prints("of 10 persons").lacks("this file")
	}
	// Models of rows are compared by persons where the schema says so, and the other way around.
	train := []string{"train", "--data", "visits.csv", "--epsilon", "2", "--data-id", "others", "--force"}
	for out, schema := range map[string]string{"rows.json": "rows.yaml", "persons.json": "declared.yaml"} {
		mustRun(t, dir, append(slices.Clone(train), "--schema", schema, "--ledger", out+"l", "--out", out)...)
	}
	choose := []string{"search", "--verbose", "--models", "rows.json,persons.json", "--data", "visits.csv", "--epsilon", "0.5", "--ledger", "chosen.jsonl", "--schema"}
	if code, out, errs := dyad(t, dir, append(choose, "public.yaml")...); code != exitOK || !strings.Contains(out, "for one person") || !strings.Contains(out, "n = 40 persons") || told.MatchString(out+errs) {
		t.Errorf("models by persons: exit %d: %s%s", code, out, errs)
	}
	ran(t, dir, append(choose, "rows.yaml", "--data-id", "rows")...).exits(exitOK).prints("for one record", fmt.Sprintf("n = %d records", count))
	write(t, dir, "ids.yaml", "data_id: visits\n"+strings.Replace(visitColumns, "role: person", "role: id", 1))
	mustRun(t, dir, append(slices.Clone(train), "--schema", "ids.yaml", "--ledger", "ids.jsonl", "--out", "ids.json")...)
	write(t, dir, "stream.yaml", personSettings+"  - {name: stream, algorithm: offpairc}\n")
	for want, args := range map[string][]string{
		"with the role person or ignore": {"--models", "persons.json,ids.json", "--schema", "declared.yaml"},
		"several times":                  {"--candidates", "stream.yaml", "--schema", "declared.yaml"},
	} {
		ends(t, dir, exitInput, want, append([]string{"search", "--data", "visits.csv"}, args...)...)
	}
}

// TestSearchOfPersonsIsSilent: files of the same persons with other numbers of rows, features and labels are searched
// with the same texts, but for what is released.
func TestSearchOfPersonsIsSilent(t *testing.T) {
	released := regexp.MustCompile(`(?m)^(winner  |            noisy AUC ).*$|"(winner|released_auc|estimated_seconds)": [^\n]*\n|[A-Z2-7]{26}`)
	for _, flags := range [][]string{{"--road", "random-stopping", "--runs", "3"}, {"--road", "compose", "--json"}} {
		silentOnVisits(t, searchVisits(flags...), map[string]string{"settings.yaml": personSettings}, "RELEASED",
			func(all string) string { return released.ReplaceAllString(all, "RELEASED") })
	}
}
