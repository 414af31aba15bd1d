package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestTopics: every page can be asked for and is listed, its lines fit a terminal, and its
// numbers are right.
func TestTopics(t *testing.T) {
	_, usage, _ := dyad(t, t.TempDir(), "--help")
	for _, topic := range topics() {
		code, out, errs := dyad(t, t.TempDir(), "help", topic.name)
		if code != exitOK || out != topic.text || errs != "" {
			t.Errorf("help %s: exit %d: %s", topic.name, code, errs)
		}
		if !strings.Contains(usage, "dyad help "+topic.name) {
			t.Errorf("dyad --help does not name the page %s", topic.name)
		}
		for line := range strings.Lines(topic.text) {
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
	if code, _, _ := dyad(t, t.TempDir(), "help", "train"); code != exitOK {
		t.Error("help of a command is gone")
	}
}
