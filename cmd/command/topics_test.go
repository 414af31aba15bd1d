package command

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestTopics: every page can be asked for and is listed, its lines fit a terminal, and its
// numbers are right.
func TestTopics(t *testing.T) {
	_, usage, _ := dyad(t, t.TempDir(), "--help")
	for _, topic := range topics() {
		ran(t, t.TempDir(), "help", topic.name).exits(exitOK).warnsNothing().printsOnly(topic.text())
		if !strings.Contains(usage, "dyad help "+topic.name) {
			t.Errorf("dyad --help does not name the page %s", topic.name)
		}
		for line := range strings.Lines(topic.text()) {
			if len(line) > 121 {
				t.Errorf("%s: a line of %d characters: %s", topic.name, len(line), line)
			}
		}
	}
	for epsilon, digits := range map[float64]int{1: 0, 0.1: 0, 5: 1} { // a pure epsilon
		success := 100 * math.Exp(epsilon) / (1 + math.Exp(epsilon))
		rounded := math.Ceil(success*math.Pow10(digits)) / math.Pow10(digits)
		if want := fmt.Sprintf("%g %%", rounded); !strings.Contains(wordsTopic, want) {
			t.Errorf("at epsilon %g the success is at most %s, which the page does not say", epsilon, want)
		}
	}
	mustRun(t, t.TempDir(), "help", "train")
}

// TestChoosingHasTheNumbersOfTheRawFile: every row of the page's table is that of
// bench/results/auto-summary.csv, and no set of records is left out.
func TestChoosingHasTheNumbersOfTheRawFile(t *testing.T) {
	f := must.Get(os.Open("../../bench/results/auto-summary.csv"))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	number := func(row []string, name string) float64 {
		return must.Get(strconv.ParseFloat(row[at[name]], 64))(t)
	}
	want := map[string]string{} // columns of the page, by records and data
	for _, row := range rows[1:] {
		if row[at["algorithm"]] != "logistic-regression" || row[at["delta"]] != "1e-05" {
			continue
		}
		key := row[at["n"]] + " " + row[at["data"]]
		if want[key] == "" {
			want[key] = fmt.Sprintf("%s %.3f", row[at["d"]], number(row, "mean"))
		}
		want[key] += strings.Replace(fmt.Sprintf(" %.3f", number(row, "difference")+1e-12), "-0.000", "0.000", 1) // halves up
	}
	found := 0
	for line := range strings.Lines(choosingTopic) {
		words := strings.Fields(line)
		if len(words) != 8 || strings.HasPrefix(line, "training") || !strings.Contains(words[4], "0.") {
			continue
		}
		found++
		key := strings.ReplaceAll(words[0], ",", "") + " " + words[1]
		if got := strings.Join(words[2:], " "); got != want[key] {
			t.Errorf("%s: the page says %q, the raw file %q", key, got, want[key])
		}
	}
	if found != len(want) || found == 0 {
		t.Errorf("%d rows, and %d in the raw file", found, len(want))
	}
}
