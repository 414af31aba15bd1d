package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

func module(t *testing.T) (string, []part) {
	t.Helper()
	sizes.NotShort(t, "lists the packages of five systems")
	at := must.Get(root())(t)
	parts := must.Get(partsOf(at))(t)
	return at, parts
}

// NOTICE has every module of the program, and the bill of parts has the same.
func TestNotice(t *testing.T) {
	at, parts := module(t)
	text := must.Get(os.ReadFile(filepath.Join(at, "NOTICE")))(t)
	if !bytes.Equal(text, notice(parts)) {
		t.Error("NOTICE is not current: go generate ./internal/release")
	}
	if bytes.Equal(text, notice(parts[1:])) || len(parts) < 20 { // the guard catches a part that is missing
		t.Errorf("NOTICE would be the same without %s, or there are only %d parts", parts[0].name, len(parts))
	}
	bill := must.Get(sbom(parts))(t)
	again, err := sbom(parts)
	if err != nil || !bytes.Equal(bill, again) {
		t.Errorf("two bills of parts differ: %v", err)
	}
	var read struct {
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(bill, &read); err != nil || len(read.Components) != len(parts) {
		t.Errorf("%d components of %d parts, %v", len(read.Components), len(parts), err)
	}
}

// docs/dependencies.md names every module that nobody has released for years.
func TestOldModulesAreListed(t *testing.T) {
	at, _ := module(t)
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}} {{with .Time}}{{.Format \"2006\"}}{{end}}{{end}}", "./...")
	c.Dir = at
	out := must.Get(c.Output())(t)
	docs := must.Get(os.ReadFile(filepath.Join(at, "docs", "dependencies.md")))(t)
	old, dated := map[string]bool{}, 0
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 {
			if dated++; f[2] < "2022" {
				old[f[0]] = true
			}
		}
	}
	for name := range old {
		if !strings.Contains(string(docs), "| `"+name+"` |") {
			t.Errorf("docs/dependencies.md does not name %s", name)
		}
	}
	if dated > 0 && len(old) == 0 || strings.Contains(string(docs), "| `github.com/alecthomas/kong` |") {
		t.Errorf("%d old modules of %d: the test finds none, or the page names a maintained one", len(old), dated)
	}
}

func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"The MIT License\n\nPermission is hereby granted, free of\ncharge, to any": "MIT",
		"SIL OPEN FONT LICENSE\nPermission is hereby granted, free of charge":      "OFL-1.1",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3":                                    "",
	} {
		p := part{name: "example.org/x", texts: map[string]string{"LICENSE": text}}
		if got, err := p.licence(); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	must.Err((&part{name: "example.org/x"}).licence())(t, "a module without a licence is accepted")
}

// interpreter is the loader that a program needs, "" if it is started by itself.
func interpreter(t *testing.T, name string) string {
	t.Helper()
	f := must.Get(elf.Open(name))(t)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			text := make([]byte, p.Filesz)
			must.Get(p.ReadAt(text, 0))(t)
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}

// The tag static leaves out all that loads libraries: the program starts in an empty root.
func TestStatic(t *testing.T) {
	if !sizes.Full() || runtime.GOOS != "linux" {
		t.Skip("builds the program twice, and with an empty cache all that it imports: at full power")
	}
	at := must.Get(root())(t)
	here := target{runtime.GOOS, runtime.GOARCH}
	dir := t.TempDir()
	for tags, static := range map[string]bool{"": false, "static": true} { // without it the loader is needed: the test can fail
		program := filepath.Join(dir, "dyad"+tags)
		must.Do(t, build(at, program, here, tags))
		if loader := interpreter(t, program); (loader == "") != static {
			t.Errorf("tags %q: the program needs the loader %q", tags, loader)
		}
	}
	if os.Getuid() != 0 {
		return
	}
	out, err := exec.Command("chroot", dir, "/dyadstatic", "train", "--quiet").CombinedOutput()
	if err != nil && !strings.Contains(string(out), "Operation not permitted") {
		t.Errorf("in an empty root: %v\n%s", err, out)
	}
}
