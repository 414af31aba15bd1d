package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Archives are the same bytes each time, and dpkg reads the package.
func TestArchives(t *testing.T) {
	papers := func() []file {
		return []file{{"LICENSE", []byte("l"), 0o644}, {"NOTICE", []byte("n"), 0o644}, {"man1/dyad.1", []byte("m"), 0o644}, {"completion/zsh/_dyad", []byte("z"), 0o644}}
	}
	for _, system := range targets {
		var made [2]file
		for i := range made {
			made[i] = must.Get(pack("dyad_x", system, append([]file{{"dyad", []byte("program"), 0o755}}, papers()...)))(t)
		}
		if !bytes.Equal(made[0].text, made[1].text) || len(made[0].text) < 100 {
			t.Errorf("%v: two archives differ", system)
		}
	}
	deb := must.Get(debian(targets[0], []byte("program"), papers()))(t)
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip(err)
	}
	name := filepath.Join(t.TempDir(), deb.name)
	must.Do(t, os.WriteFile(name, deb.text, 0o600))
	out, err := exec.Command("dpkg-deb", "--contents", name).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "./usr/bin/dyad") || !strings.Contains(string(out), "./usr/share/doc/dyad/copyright") ||
		!strings.Contains(string(out), "./usr/share/man/man1/dyad.1\n") || !strings.Contains(string(out), "./usr/share/zsh/vendor-completions/_dyad\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command("dpkg-deb", "--info", name).CombinedOutput(); err != nil || !strings.Contains(string(out), "Architecture: amd64") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The program writes a manual page of each command, and a completion script for each shell.
func TestHelpers(t *testing.T) {
	if !sizes.Full() {
		t.Skip("builds the program, and with an empty cache all that it imports: at full power")
	}
	at := must.Get(root())(t)
	files := must.Get(helpers(at, t.TempDir()))(t)
	for _, want := range []string{"man1/dyad.1", "man1/dyad-pairs-train.1", "completion/bash/dyad", "completion/zsh/_dyad", "completion/fish/dyad.fish"} {
		if i := slices.IndexFunc(files, func(f file) bool { return f.name == want }); i < 0 || len(files[i].text) < 1000 {
			t.Errorf("no %s of %d files", want, len(files))
		}
	}
}
