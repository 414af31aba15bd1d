package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// fewest is the number of mutants, which never falls: the commit that moves code moves its mutants.
const fewest = 161

const root = "../.."

// Every mutant applies to the code of today, makes other code, and names a test that is there.
func TestMutantsApply(t *testing.T) {
	all := must.Get(readMutants("patches"))(t)
	must.Equal(t, len(all), fewest, "mutants")
	for _, m := range all {
		files, err := m.Apply(root)
		if err != nil {
			t.Error(err)
		}
		for name := range files {
			if strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s changes a test, %s", m.Name, name)
			}
		}
		tests := must.Get(filepath.Glob(filepath.Join(root, m.Package, "*_test.go")))(t)
		declared := regexp.MustCompile(`(?m)^func ` + m.Test + `\(t \*testing\.T\)`)
		found := false
		for _, name := range tests {
			text := must.Get(os.ReadFile(name))(t)
			found = found || declared.Match(text)
		}
		if !found {
			t.Errorf("%s: package %s has no test %s", m.Name, m.Package, m.Test)
		}
	}
}

// The runner tells a mutant that is found from one that lives, one that does not compile, and one that no longer applies.
func TestRunnerTellsMutants(t *testing.T) {
	sizes.NotShort(t, "slow: it builds four modules")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example\n\ngo 1.26\n",
		"one.go":      "package example\n\nfunc one() int {\n\treturn 1\n}\n",
		"one_test.go": "package example\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() < 1 {\n\t\tt.Error(one())\n\t}\n}\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	patch := func(before, after string) string {
		return "Defect: d.\nTest: ./. TestOne\n\n--- a/one.go\n+++ b/one.go\n@@ -3,3 +3,3 @@\n func one() int {\n-\treturn " + before + "\n+\treturn " + after + "\n }\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"found", patch("1", "0"), ""},
		{"lives", patch("1", "2"), "passes with it"},
		{"does not compile", patch("1", "x"), "was not carried out"},
		{"no longer applies", patch("3", "0"), "no longer applies"},
		{"no such test", strings.Replace(patch("1", "0"), "TestOne", "TestTwo", 1), "passes with it"},
	} {
		m := must.Get(parseMutant(c.name, c.text))(t)
		if err := m.run(t.Context(), dir); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if text, err := os.ReadFile("one.go"); err != nil || !bytes.Contains(text, []byte("return 1")) {
		t.Errorf("the tree was touched: %v", err)
	}
}

// A change of the code, the test's package or the patch selects a mutant.
func TestTouched(t *testing.T) {
	m := must.Get(parseMutant("halved", "Defect: d.\nTest: ./privacy TestOne\n\n--- a/privacy/internal/sampler/sampler.go\n+++ b/x\n@@ @@\n-a\n+b\n"))(t)
	for file, want := range map[string]bool{
		"privacy/internal/sampler/sampler.go": true, "privacy/session_test.go": true, "internal/mutants/patches/halved.patch": true,
		"privacy/internal/sampler/trial.go": false, "README.md": false,
	} {
		must.Equal(t, m.touched([]string{file}), want, "a change of %s: %v", file, !want)
	}
}
