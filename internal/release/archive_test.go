package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Archives are the same bytes each time, and dpkg reads the package.
func TestArchives(t *testing.T) {
	papers := func() []file { return []file{{"LICENSE", []byte("l"), 0o644}, {"NOTICE", []byte("n"), 0o644}} }
	for _, system := range targets {
		var made [2]file
		for i := range made {
			var err error
			if made[i], err = pack("dyad_x", system, append([]file{{"dyad", []byte("program"), 0o755}}, papers()...)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(made[0].text, made[1].text) || len(made[0].text) < 100 {
			t.Errorf("%v: two archives differ", system)
		}
	}
	deb, err := debian(targets[0], []byte("program"), papers())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip(err)
	}
	name := filepath.Join(t.TempDir(), deb.name)
	if err := os.WriteFile(name, deb.text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("dpkg-deb", "--contents", name).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "./usr/bin/dyad") || !strings.Contains(string(out), "./usr/share/doc/dyad/copyright") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command("dpkg-deb", "--info", name).CombinedOutput(); err != nil || !strings.Contains(string(out), "Architecture: amd64") {
		t.Errorf("%v\n%s", err, out)
	}
}
