package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestEveryLedgerCommandHasARow reads the help of all commands: those with --ledger have a row, or a reason in noRow.
func TestEveryLedgerCommandHasARow(t *testing.T) {
	help := must.Get(os.ReadFile("../../../docs/commands.md"))(t)
	rows, found := map[string]bool{}, 0
	for _, c := range commands {
		if rows[c.row] {
			t.Errorf("two rows %q", c.row)
		}
		rows[c.row] = true
	}
	flag, same := regexp.MustCompile(`(?m)^ .*\s--ledger(?:[\s=]|$)`), regexp.MustCompile(`the flags of dyad ([a-z ]+) but`)
	has := map[string]bool{}
	for _, section := range strings.Split(string(help), "\n## dyad ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		m := same.FindStringSubmatch(text) // a command above
		has[name] = flag.MatchString(text) || m != nil && has[m[1]]
		if !has[name] {
			continue
		}
		found++
		if rows[name] == (noRow[name] != "") {
			t.Errorf("dyad %s has --ledger: want a row in commands, or a reason in noRow", name)
		}
	}
	if found < len(noRow)+10 {
		t.Errorf("%d commands with --ledger in docs/commands.md", found)
	}
}

// TestRules: states that break a rule are found, whole ones are not.
func TestRules(t *testing.T) {
	sum := sha256.Sum256([]byte("result\n"))
	released := map[string]string{"r": "sha256:" + hex.EncodeToString(sum[:])}
	row := command{"row", "", "out", charged, 1, ""}
	shown, copied := row, command{"copy", "", "out", file, 0, ""}
	shown.out = ""
	whole := &template{files: map[string]string{"copy": "result\n"}, books: &books{}}
	for name, c := range map[string]struct {
		command command
		charges []string
		digests map[string]string
		file    string // its content is a result
		text    string
		code    int
		want    string
	}{
		"whole":                              {row, []string{"r"}, released, "out", "result\n", exitOK, ""},
		"exit 0 without a file":              {row, []string{"r"}, released, "", "", exitOK, "untrue"},
		"exit 0 with another file":           {row, []string{"r"}, released, "out", "other\n", exitOK, "untrue"},
		"exit 0 under another name":          {row, []string{"r"}, released, "kept", "result\n", exitOK, "untrue"},
		"exit 0 with a charge and no finish": {row, []string{"r"}, nil, "out", "result\n", exitOK, "untrue"},
		"exit 0 without a charge":            {row, nil, nil, "out", "result\n", exitOK, "untrue"},
		"saved elsewhere":                    {row, []string{"r"}, released, "kept", "result\n", exitElsewhere, ""},
		"saved elsewhere, and nowhere":       {row, []string{"r"}, released, "", "", exitElsewhere, "nowhere"},
		"bad input":                          {row, nil, nil, "", "", exitInput, ""},
		"bad input and a charge":             {row, []string{"r"}, nil, "", "", exitInput, "something was charged"},
		"two charges":                        {row, []string{"r", "s"}, released, "out", "result\n", exitOK, "2 charges"},
		"no such code":                       {row, nil, nil, "", "", 99, "no such code"},
		"killed":                             {row, []string{"r"}, nil, "", "", -1, ""},
		"printed":                            {shown, []string{"r"}, map[string]string{"r": ""}, "", "figures\n", exitOK, ""},
		"exit 0 and nothing printed":         {shown, []string{"r"}, map[string]string{"r": ""}, "", "", exitOK, "untrue"},
		"printed, with a digest of no file":  {shown, []string{"r"}, released, "", "figures\n", exitOK, "untrue"},
		"a copy":                             {copied, nil, nil, "out", "result\n", exitOK, ""},
		"half a copy":                        {copied, nil, nil, "out", "res", exitFailure, "partial"},
		"no copy, by a failure":              {copied, nil, nil, "", "", exitFailure, ""},
		"no copy and exit 0":                 {copied, nil, nil, "", "", exitOK, "untrue"},
	} {
		dir := t.TempDir()
		e := ended{code: c.code}
		if c.file == "" {
			e.stdout = c.text
		} else if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		rule, _, err := c.command.left(program{dir: dir}, whole, &books{charges: c.charges, digests: c.digests}, e)
		if err != nil || (rule == "") != (c.want == "") || !strings.Contains(rule, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, rule, err, c.want)
		}
	}
}

// TestReadTrace: calls that another thread interrupts in the log are put together, and the one that was hit is found.
func TestReadTrace(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text := `10 fsync(3</a>) = 0
11 fsync(4</b> <unfinished ...>
10 fsync(5</proc/c>) = 0
11 <... fsync resumed>) = -1 EIO (Input/output error) (INJECTED)
10 fsync(6</d> <unfinished ...>
`
	must.Do(t, os.WriteFile(log, []byte(text), 0o600))
	if c, err := hitBy(log, "EIO", 1); err != nil || c == nil || !strings.Contains(c.text, "/b") || c.nth != 1 {
		t.Errorf("hit %+v, %v", c, err)
	}
	if c, err := hitBy(log, kill, 3); err != nil || c == nil || !strings.Contains(c.text, "/d") {
		t.Errorf("killed at %+v, %v", c, err)
	}
	if c, err := hitBy(log, kill, 4); err != nil || c != nil {
		t.Errorf("killed at %+v, %v; want none", c, err)
	}
}
