package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// TestReadmeRoad: the commands that README.md and docs/persons.md show, in order: for a file of one's own work, on the
// file that it suggests if none is at hand, where the edit in between takes the marks away; and for
// a hospital's file, which is smaller but at full power.
func TestReadmeRoad(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "README.md")))(t)
	if lines := strings.Count(string(text), "\n"); lines > 80 {
		t.Errorf("README.md has %d lines, and a reader finishes 80", lines)
	}
	more := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "persons.md")))(t)
	text = append(text, more...)
	dir := t.TempDir()
	if !strings.Contains(string(text), "./dyad data synth patients.csv -n 5000`") {
		t.Fatal("the README suggests no file")
	}
	mustRun(t, dir, "data", "synth", "patients.csv", "-n", "5000")
	_, settings, _ := strings.Cut(string(text), "```yaml\n")
	settings, _, _ = strings.Cut(settings, "```")
	write(t, dir, "settings.yaml", settings)
	smaller := strings.NewReplacer("--visits", "--visits --persons 5000", "-n 56000", "-n 4000")
	seen := map[string]string{} // output of each command
	for line := range strings.Lines(string(text)) {
		command, ok := strings.CutPrefix(line, "$ ./dyad ")
		if !ok {
			continue
		}
		command, _, _ = strings.Cut(command, " #")
		if command = strings.TrimSpace(command); !sizes.Full() {
			command = smaller.Replace(command)
		}
		start := time.Now()
		out, errs := ran(t, dir, strings.Fields(command)...).exits(exitOK).texts()
		t.Logf("%6.2f s  dyad %s", time.Since(start).Seconds(), command)
		if strings.Contains(out+errs, "BOUNDS NOT PRIVATE") {
			t.Errorf("dyad %s: the ranges still count as taken from the data", command)
		}
		if seen[command] = out; !strings.HasPrefix(command, "start patients.csv") {
			continue
		}
		draft, err := os.ReadFile(filepath.Join(dir, "patients.yaml"))
		if err != nil || !strings.Contains(string(draft), ", from_data: true") {
			t.Fatalf("the draft has no marks (%v):\n%s", err, draft)
		}
		edited := regexp.MustCompile(`range: \[[^]]*\]`).ReplaceAllStringFunc(string(draft), func(r string) string { // not what the file has
			var lo, hi float64
			must.Get(fmt.Sscanf(r, "range: [%g, %g]", &lo, &hi))(t)
			return fmt.Sprintf("range: [%g, %g]", lo*.9, hi*1.1)
		})
		for line := range strings.Lines(edited) {
			if strings.Contains(line, "categories:") {
				edited = strings.Replace(edited, line, strings.Replace(line, "from_data: true", `known_from: "code book"`, 1), 1)
			}
		}
		write(t, dir, "patients.yaml", strings.ReplaceAll(edited, ", from_data: true", ""))
	}
	if len(seen) < 15 {
		t.Errorf("the README shows %d commands, want those of both roads", len(seen))
	}
	// What was spent on the hospital's file is for persons, and its AUC is private and good.
	if total := seen["ledger show visits"]; !strings.Contains(total, "visits: 4 runs") || !strings.Contains(total, ", for one person;") {
		t.Errorf("the ledger says %s", total)
	}
	least := 0.5
	if !sizes.Full() {
		least = 0 // of 1,000 persons the interval can reach below
	}
	for _, model := range []string{"visits.json", "chosen.json"} {
		var auc, low, high float64
		if _, err := fmt.Sscanf(seen["evaluate "+model+" --data visits.csv --holdout 0.2 --epsilon 0.5"], "AUC %f (%f to %f)", &auc, &low, &high); err != nil || !(least <= low && low < auc && auc < high && high <= 1) {
			t.Errorf("the private AUC of %s is %v (%v to %v): %v", model, auc, low, high, err)
		}
	}
}
