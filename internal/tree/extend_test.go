package tree

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// What an addition takes: files of this module that are new or changed, by their paths, and a line of an existing file with what it becomes.
type addition struct {
	files   map[string]string
	changed map[string][2]string
	// run are arguments of the program, with what it must say. check is a test of a package instead: its folder and name.
	run   map[string]string
	check [2]string
}

var additions = map[string]addition{
	"an algorithm with an option of its own": {
		files: map[string]string{"algorithms/toy.go": `package algorithms

type toyDescent struct {
	GradientPerturbation ` + "`options:\"Steps\"`" + `
	ToyLength            float64
}

func (a toyDescent) Info() Info {
	i := a.GradientPerturbation.Info()
	i.Name = "toy"
	return i
}

func (a toyDescent) Plan(s Spec) (*Plan, error) {
	a.StepSize = a.ToyLength
	p, err := a.GradientPerturbation.Plan(s)
	if err == nil {
		p.Algorithm = "toy"
	}
	return p, err
}
`},
		changed: map[string][2]string{"algorithms/catalog.go": {"		DPGDSC{},\n", "		DPGDSC{}, toyDescent{},\n"}},
		run: map[string]string{
			"plan -n 100 -d 3 --verbose --algorithm toy --steps 3 --toy-length 0.125": "0.125",
			"plan -n 100 -d 3 --verbose --config toy.yaml":                            "0.125",
			"plan -n 100 -d 3 --algorithm dpgdsc --toy-length 0.125":                  "does not take --toy-length; toy does",
			"plan --help-all": "--toy-length",
		},
	},
	"a loss": {
		changed: map[string][2]string{"engine/losses_library.go": {"	return []LibraryLoss{\n", "	return []LibraryLoss{\n		{Name: \"toy\", Title: \"a toy\", Text: \"log1p(exp(-2*u))/2\"},\n"}},
		run:     map[string]string{"losses list": "toy", "plan -n 100 -d 3 --algorithm dpgdsc --loss toy": "differentially private"},
	},
	"an event": {
		files: map[string]string{"privacy/account/event_toy.go": `package account

import "fmt"

type toyEvent struct {
	Loss float64 ` + "`json:\"loss\"`" + `
}

func (e toyEvent) String() string  { return fmt.Sprintf("toy %g x 1", e.Loss) }
func (e toyEvent) validate() error { return positive("loss of a toy", e.Loss) }
func (e toyEvent) facts() facts    { return facts{event: e, count: 1, pure: &purity{e.Loss, 1}} }
func (recorded) Toy() kind         { return record[toyEvent]("toy") }
`, "privacy/account/toy_test.go": `package account

import "testing"

func TestToy(t *testing.T) {
	t.Chdir("../..")
	text, err := Encode(toyEvent{0.5})
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := Decode(text).(toyEvent); !ok || e.Loss != 0.5 {
		t.Fatalf("%s is read as %v", text, e)
	}
	total := &GDP{}
	if err := total.Compose(toyEvent{0.5}); err != nil {
		t.Fatal(err)
	}
	if e := total.Epsilon(0); e < 0.5 || e > 0.5001 {
		t.Fatal(e)
	}
}
`},
		check: [2]string{"./privacy/account", "TestToy"},
	},
}

// TestExtendingTakesOneFile: an algorithm with an option of its own is a file and a line of the catalogue, a loss a line of one file, an event a
// file. Each is built over this module as it is, and works: its flag, its key in a file of flags, its record in a ledger and its account.
func TestExtendingTakesOneFile(t *testing.T) {
	t.Chdir("../..")
	if !sizes.Full() {
		t.Skip("it builds the program twice")
	}
	root := must.Get(filepath.Abs("."))(t)
	for name, a := range additions {
		t.Run(name, func(t *testing.T) {
			dir, replace := t.TempDir(), map[string]string{}
			put := func(path, text string) {
				at := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
				must.Do(t, os.WriteFile(at, []byte(text), 0o600))
				replace[filepath.Join(root, path)] = at
			}
			tests := 0
			for path, text := range a.files {
				put(path, text)
				if strings.HasSuffix(path, "_test.go") {
					tests++
				}
			}
			for path, line := range a.changed {
				text, err := os.ReadFile(filepath.Join(root, path))
				if err != nil || strings.Count(string(text), line[0]) != 1 {
					t.Fatalf("%s has not one line %q: %v", path, line[0], err)
				}
				put(path, strings.Replace(string(text), line[0], line[1], 1))
			}
			t.Logf("%s: %d new files and %d lines of others", name, len(a.files)-tests, len(a.changed))
			overlay := filepath.Join(dir, "overlay.json")
			text := must.Get(json.Marshal(map[string]any{"Replace": replace}))(t)
			must.Do(t, os.WriteFile(overlay, text, 0o600))
			command := func(name string, args ...string) string {
				c := exec.CommandContext(t.Context(), name, args...)
				c.Dir = root
				out, _ := c.CombinedOutput() // what is wrong is in it
				return string(out)
			}
			if a.check[0] != "" {
				if out := command("go", "test", "-overlay", overlay, "-run", "^"+a.check[1]+"$", "-v", a.check[0]); !strings.Contains(out, "--- PASS: "+a.check[1]) {
					t.Error(out)
				}
				return
			}
			program := filepath.Join(dir, "dyad")
			if out := command("go", "build", "-overlay", overlay, "-o", program, "./cmd/dyad"); out != "" {
				t.Fatal(out)
			}
			config := filepath.Join(dir, "toy.yaml")
			must.Do(t, os.WriteFile(config, []byte("algorithm: toy\nsteps: 3\ntoy-length: 0.125\n"), 0o600))
			for args, says := range a.run {
				if out := command(program, strings.Fields(strings.Replace(args, "toy.yaml", config, 1))...); !strings.Contains(out, says) {
					t.Errorf("dyad %s does not say %q:\n%s", args, says, out)
				}
			}
		})
	}
}

// TestKindOfRunIsShort: a kind of run with plan, charge, resume, page, verify and audit is one file of at most 150 lines and a line of a With.
func TestKindOfRunIsShort(t *testing.T) {
	t.Chdir("../..")
	text := must.Get(os.ReadFile("docs/examples/own/mean.go"))(t)
	program := must.Get(os.ReadFile("docs/examples/own/dyad/main.go"))(t)
	lines, used := strings.Count(string(text), "\n"), strings.Count(string(program), "own.Mean")
	t.Logf("a kind of run: %d lines in one file, and %d of the program", lines, used)
	if lines > 150 || used != 1 {
		t.Errorf("%d lines and %d uses, want at most 150 and one", lines, used)
	}
}

// TestNetworkOfOnesOwnIsShort: a program with a network of its own has six lines besides its graph, and compiles.
func TestNetworkOfOnesOwnIsShort(t *testing.T) {
	t.Chdir("../..")
	text := must.Get(os.ReadFile("docs/examples/own/waves/main.go"))(t)
	lines := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && line != "import (" && line != ")" {
			lines++
		}
	}
	if lines > 6 {
		t.Errorf("the program has %d lines", lines)
	}
	c := exec.CommandContext(t.Context(), "go", "vet", "./waves")
	c.Dir = "docs/examples/own"
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
