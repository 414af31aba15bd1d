package command

import (
	"slices"
	"strings"
	"testing"
)

// A command of an old name is the command of the new one, with a note that --quiet leaves out. A file or a value with such a name
// is none.
func TestOldNamesWork(t *testing.T) {
	dir := t.TempDir()
	for old, name := range renamed {
		want := append(strings.Fields(name), "x")
		for _, front := range [][]string{nil, {"--json"}, {"--config", "audit"}, {"help"}} {
			got, note := currentNames(slices.Concat(front, []string{old, "x"}))
			if !slices.Equal(got, slices.Concat(front, want)) || !strings.Contains(note, "dyad "+name) {
				t.Errorf("%v %s: %v, %q", front, old, got, note)
			}
		}
		if one, other := must(t, dir, old, "--help"), must(t, dir, append(strings.Fields(name), "--help")...); one != other || !strings.Contains(one, "Usage: dyad "+name) {
			t.Errorf("dyad %s --help: %s", old, one)
		}
		if page := must(t, dir, "man", old); !strings.Contains(page, ".B dyad "+name) {
			t.Errorf("dyad man %s: %s", old, page)
		}
	}
	for _, args := range [][]string{{"report", "audit"}, {"lab", "audit"}, {"train", "--out", "curve"}, {"--log-format", "audit"}} {
		if got, note := currentNames(args); !slices.Equal(got, args) || note != "" {
			t.Errorf("%v: %v, %q", args, got, note)
		}
	}
	want := must(t, dir, "lab", "losses", "check", "-u")
	code, out, errs := dyad(t, dir, "losses", "check", "-u")
	if code != exitOK || out != want || errs != "dyad: dyad losses is now dyad lab losses; the old name works, too\n" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := dyad(t, dir, "-q", "losses", "check", "-u"); code != exitOK || out != "" || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// A flag is explained by its name, with the commands that take it; a name of a command is the command's.
func TestHelpOnAFlag(t *testing.T) {
	for name, want := range map[string]string{"steps": "Number of full-batch steps", "--epsilon": "Epsilon to spend.", "step-size": "Of plan, train", "report": "Usage: dyad report", "audit": "Usage: dyad lab audit"} {
		if out := must(t, t.TempDir(), "help", name); !strings.Contains(out, want) {
			t.Errorf("dyad help %s: %s", name, out)
		}
	}
	if out := must(t, t.TempDir(), "help", "step-size"); !strings.Contains(strings.Join(strings.Fields(out), " "), "lab audit records") {
		t.Errorf("%s", out)
	}
}
