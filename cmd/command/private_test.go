//go:build unix

package command

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
)

// privateNames are the names of flags, of any command, whose files are as private as the records.
var privateNames = []string{"ledger", "state", "memory", "token", "tokens", "key"}

// Every flag that names a private file has the tag by which its readers are looked at.
func TestPrivateFilesAreTagged(t *testing.T) {
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	tagged := 0
	for _, leaf := range parser.Model.Leaves(false) {
		for _, level := range leaf.AllFlags(false) {
			for _, f := range level {
				if f.Tag.Has("private") {
					tagged++
				}
				if f.Tag.Has("private") != (slices.Contains(privateNames, f.Name) && !(leaf.Name == "verify" && f.Name == "key")) { // which is public
					t.Errorf("%s --%s: tagged private is %v", leaf.FullPath(), f.Name, f.Tag.Has("private"))
				}
			}
		}
	}
	if tagged < 15 {
		t.Errorf("%d flags are private", tagged)
	}
}

// A private file that others can read is named; one that its owner alone can read is not, nor are locks and heads.
func TestReadersOfPrivateFilesAreNamed(t *testing.T) {
	dir := clinic(t, 60)
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml"}
	for _, args := range [][]string{
		append([]string{"train", "--ledger", "l.jsonl"}, data...), append([]string{"online", "--ledger", "l.jsonl", "--state", "s.state", "--records", "60"}, data...),
		{"ledger", "compact", "--ledger", "l.jsonl"}, {"local", "plan", "-n", "60", "--schema", "patients.yaml", "--out", "learn.json"},
		append([]string{"local", "client", "--protocol", "learn.json", "--user", "u", "--memory", "m.json", "--max-epsilon", "50"}, data...),
	} {
		ran(t, dir, args...).exits(exitOK).lacks("can read")
	}
	archives, err := filepath.Glob(filepath.Join(dir, "l.jsonl.archive-*"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	for name := range map[string]bool{"l.jsonl": true, "l.jsonl.lock": true, "l.jsonl.head": true, "s.state": true, "m.json": true, filepath.Base(archives[0]): true} {
		must.Do(t, os.Chmod(filepath.Join(dir, name), 0o644))
	}
	write(t, dir, "l.jsonl.RUN.checkpoint", "x")
	write(t, dir, "open.csv", "id,age\n1,2\n")
	must.Do(t, os.Chmod(filepath.Join(dir, "open.csv"), 0o644))
	must.Do(t, os.Chmod(filepath.Join(dir, "l.jsonl.RUN.checkpoint"), 0o640))
	named := func(args ...string) (files []string) {
		t.Helper()
		_, _, errs := dyad(t, dir, args...)
		for line := range strings.Lines(errs) {
			if before, mode, ok := strings.Cut(line, " (mode 06"); ok && strings.Contains(mode, "chmod 600 ") {
				files = append(files, filepath.Base(before[strings.LastIndexByte(before, ' ')+1:]))
			}
		}
		slices.Sort(files)
		return files
	}
	whole := []string{"l.jsonl", "l.jsonl.RUN.checkpoint", filepath.Base(archives[0])}
	for _, c := range []struct{ args, want []string }{
		{[]string{"ledger", "show", "--ledger", "l.jsonl"}, whole},
		{append([]string{"online", "--ledger", "l.jsonl", "--state", "s.state", "--records", "60", "--resume"}, data...), append(whole[:3:3], "s.state")},
		{append([]string{"local", "client", "--protocol", "learn.json", "--user", "u", "--memory", "m.json", "--max-epsilon", "50"}, data...), []string{"m.json"}},
		{[]string{"plan", "-n", "60", "--schema", "patients.yaml"}, nil},
		{append([]string{"train", "--ledger", "l.jsonl", "--force"}, data...), whole},
		{[]string{"ledger", "show", "--ledger", "open.csv"}, nil}, // no ledger, so its mode is not the concern of this command
		{append([]string{"online", "--state", "open.csv", "--records", "60", "--resume"}, data...), nil},
		{append([]string{"local", "client", "--protocol", "learn.json", "--user", "u", "--memory", "open.csv", "--max-epsilon", "50"}, data...), nil},
		{[]string{"local", "token", "--key", "open.csv", "--protocol", "learn.json", "u"}, nil},
	} {
		if got := named(c.args...); !slices.Equal(got, c.want) {
			t.Errorf("dyad %v names %q, want %q", c.args, got, c.want)
		}
	}
}

// No core dump has the records: the program lets no process of its own make one.
func TestNoCoreDumps(t *testing.T) {
	f := newFixture(t)
	c := f.start(t, crash.Spec{Args: f.train(), Stage: "opening ledger", Fault: "pause"})
	c.Paused(t)
	defer c.End()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.Process.Pid), "limits"))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok {
			if fields := strings.Fields(rest); fields[0] != "0" || fields[1] != "0" {
				t.Errorf("limits of core dumps: %v", fields)
			}
			return
		}
	}
	t.Error("no limit of core dumps")
}
