package command

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/sizes"
)

// logOf runs a command with JSON logs, and returns what standard error got, with its entries. Everything
// in it must be an entry with a time, a known level and a message.
func logOf(t *testing.T, dir string, args ...string) (code int, text string, entries []logEntry) {
	t.Helper()
	before := time.Now().UTC().Truncate(time.Second)
	code, _, text = dyad(t, dir, append(args[:len(args):len(args)], "--log-format", "json")...)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" && text == "" {
			continue
		}
		var e logEntry
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil || d.More() {
			t.Fatalf("%v: a line that is not an entry: %q (%v)", args, line, err)
		}
		if e.Message == "" || strings.HasPrefix(e.Message, "dyad: ") || !slices.Contains([]string{levelInfo, levelWarning, levelError}, e.Level) || e.Time.Before(before) || e.Time.After(time.Now()) {
			t.Errorf("%v: %q", args, line)
		}
		entries = append(entries, e)
	}
	return code, text, entries
}

// Notes, warnings, progress and errors of every kind are entries, with their level.
func TestLogsAreJSON(t *testing.T) {
	dir := clinic(t, 64)
	write(t, dir, "run.yaml", "log-format: json\nepsilon: 0.001\n")
	train := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "subsampled-descent", "--set", "steps=30"}
	has := func(entries []logEntry, level, text string) bool {
		return slices.ContainsFunc(entries, func(e logEntry) bool { return e.Level == level && strings.Contains(e.Message, text) })
	}
	code, text, entries := logOf(t, dir, append(train, "--epsilon", "0.001", "--out", "m.json")...)
	if code != exitOK || !has(entries, levelInfo, "a new ledger was made") || !has(entries, levelWarning, "") {
		t.Errorf("exit %d: %s", code, text)
	}
	steps := 0
	for i, e := range entries {
		if e.Total > 0 {
			if steps++; e.Total != 30 || e.Done != 3*steps || e.Message != "training" {
				t.Errorf("progress: %+v", entries[i])
			}
		}
	}
	if steps != 10 {
		t.Errorf("%d lines of progress, want one for each tenth: %s", steps, text)
	}
	if _, text, _ := logOf(t, dir, append(train, "--out", "q.json", "--quiet")...); text != "" {
		t.Errorf("--quiet logs %s", text)
	}
	write(t, dir, "bad.yaml", "wings: 2\n")
	for want, args := range map[string][]string{
		"m.json exists":    append(train, "--out", "m.json"),
		"no command fly":   {"fly"},
		"no flag":          {"train", "--config", "bad.yaml"},
		"unknown flag":     {"train", "--wings"},
		"must be positive": {"train", "--epsilon=-1"},
	} {
		if code, text, entries := logOf(t, dir, args...); code != exitInput || len(entries) != 1 || !has(entries, levelError, want) {
			t.Errorf("%s: exit %d: %s", want, code, text)
		}
	}
	// A file of --config can ask for it.
	if _, _, errs := dyad(t, dir, append(train, "--config", "run.yaml", "--out", "c.json")...); !strings.HasPrefix(errs, `{"time":"`) {
		t.Errorf("by a file: %s", errs)
	}
	ends(t, dir, exitInput, `"text","json"`, "train", "--log-format", "xml")
	// A panic is an entry, too.
	var out, errs bytes.Buffer
	code = runHooked(context.Background(), []string{"version", "--log-format=json"}, strings.NewReader(""), panics{}, &errs, hooks{})
	var e logEntry
	if err := json.Unmarshal(errs.Bytes(), &e); err != nil || code != exitFailure || e.Level != levelError || !strings.Contains(e.Message, "internal error") {
		t.Errorf("a panic: exit %d: %s%s", code, out.String(), errs.String())
	}
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("broken") }

var logClock = regexp.MustCompile(`"time":"[^"]*"`)

// The logs of neighbours are equal bytes, but for the second at which the command began: of records, and of
// persons with other numbers of rows. Every line has that one time, so that no number of rows shows in it.
func TestLogsOfNeighbours(t *testing.T) {
	sizes.NotShort(t, "slow")
	logs := func(dir string, args ...string) string {
		code, text, entries := logOf(t, dir, args...)
		if code != exitOK || len(entries) == 0 {
			t.Fatalf("%v: exit %d: %s", args, code, text)
		}
		for _, e := range entries {
			if !e.Time.Equal(entries[0].Time) {
				t.Errorf("two times: %s", text)
			}
		}
		return strings.ReplaceAll(logClock.ReplaceAllString(text, "CLOCK"), dir, "DIR")
	}
	train := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json", "--algorithm", "subsampled-descent", "--set", "steps=20"}
	for _, args := range [][]string{
		append(train, "--epsilon", "2"),
		append(train, "--holdout", "0.3", "--holdout-epsilon", "1"),
		{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json", "--task", "metric"},
		{"pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--density", "2", "--degree-cap", "6", "--out", "m.json"},
	} {
		a, b := neighbouringClinics(t, 64)
		if x, y := logs(a, args...), logs(b, args...); x != y {
			t.Errorf("%v: a record shows in the log:\n%s", args, firstDifference(x, y))
		}
	}
	a, b := neighbouringClinics(t, 64)
	if logs(a, append(train, "--epsilon", "2")...) == logs(b, append(train, "--epsilon", "0.001")...) {
		t.Error("the comparison does not see a warning")
	}
	first := ""
	for name, w := range differentVisits {
		dir, _ := visits(t, w.rows, w.row)
		text := logs(dir, "train", "--data", "visits.csv", "--schema", "declared.yaml", "--algorithm", "dpgdsc", "--epsilon", "2", "--holdout", "0.25", "--holdout-epsilon", "1", "--out", "m.json")
		if first == "" {
			first = text
		}
		if text != first {
			t.Errorf("%s: the rows of a person show in the log:\n%s", name, firstDifference(first, text))
		}
	}
}
