package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

var testPackages = map[string]bool{"": true, "engine": true, "engine/cpu": true, "cmd/dyad": true, "privacy": true}

// Package paths change; the program, its folders and the files of the repository do not.
func TestText(t *testing.T) {
	r := newRewriter("dyad", "example.org/team/dyad", testPackages)
	for from, want := range map[string]string{
		"`go doc dyad/engine Records`":                           "`go doc example.org/team/dyad/engine Records`",
		"go install dyad/cmd/dyad":                               "go install example.org/team/dyad/cmd/dyad",
		"\tcpu \"dyad/engine/cpu\"":                              "\tcpu \"example.org/team/dyad/engine/cpu\"",
		"dyad/privacy.Budget, dyad/engine/cpu/x.go and dyad/...": "example.org/team/dyad/privacy.Budget, example.org/team/dyad/engine/cpu/x.go and example.org/team/dyad/...",
		"import \"dyad\"":                                        "import \"example.org/team/dyad\"",
		"//\t\"dyad\"":                                           "//\t\"example.org/team/dyad\"",
		"A\n" + unhosted + "B":                                   "A\n```sh\ngo get example.org/team/dyad\n```\nB",
	} {
		if got := r.text(from); got != want {
			t.Errorf("%q becomes %q, want %q", from, got, want)
		}
		if got := r.text(want); got != want {
			t.Errorf("%q becomes %q in a second run", want, got)
		}
	}
	for _, same := range []string{
		"`dyad` is the program that `go build -o dyad ./cmd/dyad` writes; type ./dyad or dyad train",
		"~/.local/state/dyad/engine.jsonl, $XDG_STATE_HOME/dyad/engine, ${HOME}/dyad/privacy",
		"cmd/dyad/engine_test.go, ../dyad/engine, github.com/x/dyad/engine, my-dyad/engine",
		"dyad/ledger.jsonl, dyad/enginetest, \"dyad-model/1\"",
		"os.MkdirTemp(\"\", \"dyad\")",
	} {
		if got := r.text(same); got != same {
			t.Errorf("%q becomes %q", same, got)
		}
	}
}

func TestGoFile(t *testing.T) {
	r := newRewriter("dyad", "example.org/team/dyad", testPackages)
	got, err := r.goFile("x.go", []byte(`// Package x is like dyad/engine.
package x

import (
	"dyad"
	"dyad/engine"
	cpu "dyad/engine/cpu"
	"fmt"
	"gonum.org/v1/gonum/mat"
)

`+"//go:"+`generate go run dyad/cmd/dyad docs
var seed = []byte("dyad/privacy seeded source") // bytes of a stream
`))
	want := `// Package x is like example.org/team/dyad/engine.
package x

import (
	"fmt"

	"example.org/team/dyad"
	"example.org/team/dyad/engine"
	cpu "example.org/team/dyad/engine/cpu"
	"gonum.org/v1/gonum/mat"
)

` + "//go:" + `generate go run example.org/team/dyad/cmd/dyad docs
var seed = []byte("dyad/privacy seeded source") // bytes of a stream
`
	want = strings.Replace(want, "\t\"fmt\"\n\n", "", 1)
	want = strings.Replace(want, "\t\"gonum", "\t\"fmt\"\n\t\"gonum", 1)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// A module is moved, moved again, and published; a path that no proxy serves is refused
// before anything is written.
func TestMove(t *testing.T) {
	dir, proxy := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module dyad\n\ngo 1.26.0\n",
		"engine/e.go":          "package engine\n",
		"cmd/dyad/main.go":     "package main\n\nimport _ \"dyad/engine\"\n\nfunc main() {}\n",
		"README.md":            "see dyad/engine\n",
		"bench/results/raw.md": "pkg: dyad/engine\n",
		"kernels/_asm/go.mod":  "module asm\n",
		"bench/go.mod":         "module dyad/bench\n\ngo 1.26.0\n\nrequire (\n\ta.org/a v1.0.0\n\tdyad v0.0.0\n\tz.org/z v1.0.0\n)\n\nrequire b.org/b v1.0.0 // indirect\n\nreplace dyad => ..\n",
		"bench/bench.go":       "package bench\n",
		"bench/run/main.go":    "package main\n\nimport (\n\t_ \"dyad/bench\"\n\t_ \"dyad/engine\"\n)\n\nfunc main() {}\n",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if err := move(dir, "no_dot"); err == nil || read(filepath.Join(dir, "README.md")) != "see dyad/engine\n" {
		t.Errorf("a path without a host: %v, README %q", err, read(filepath.Join(dir, "README.md")))
	}
	must.ErrDo(t, publish(dir, proxy, "v0.1.0"), "a module without a home was published")
	for _, to := range []string{"example.org/team/dyad", "example.com/Dyad"} {
		must.Do(t, move(dir, to))
		for name, want := range map[string]string{
			"go.mod":               "module " + to + "\n\ngo 1.26.0\n",
			"cmd/dyad/main.go":     "package main\n\nimport _ \"" + to + "/engine\"\n\nfunc main() {}\n",
			"README.md":            "see " + to + "/engine\n",
			"bench/go.mod":         "module " + to + "/bench\n\ngo 1.26.0\n\nrequire (\n\ta.org/a v1.0.0\n\t" + to + " v0.0.0\n\tz.org/z v1.0.0\n)\n\nrequire b.org/b v1.0.0 // indirect\n\nreplace " + to + " => ..\n",
			"bench/run/main.go":    "package main\n\nimport (\n\t_ \"" + to + "/bench\"\n\t_ \"" + to + "/engine\"\n)\n\nfunc main() {}\n",
			"bench/results/raw.md": "pkg: dyad/engine\n",
		} {
			if got := read(filepath.Join(dir, name)); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	must.Do(t, publish(dir, proxy, "v0.1.0"))
	at := filepath.Join(proxy, "example.com", "!dyad", "@v")
	if got := read(filepath.Join(at, "v0.1.0.mod")); got != "module example.com/Dyad\n\ngo 1.26.0\n" || read(filepath.Join(at, "list")) != "v0.1.0\n" {
		t.Errorf("go.mod in the proxy is %q", got)
	}
}

// docs/library.md holds the paragraph that a move replaces, or a path that go get finds.
func TestReadmeNamesTheModule(t *testing.T) {
	readme := must.Get(os.ReadFile("../../docs/library.md"))(t)
	mod := must.Get(readModule("../.."))(t)
	if path := mod.Module.Mod.Path; strings.Contains(string(readme), unhosted) == strings.Contains(string(readme), "go get "+path+"\n") {
		t.Errorf("docs/library.md says neither that %s is not hosted nor how to get it, or both", path)
	}
}
