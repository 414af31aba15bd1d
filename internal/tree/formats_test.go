package tree

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

var (
	formatText   = regexp.MustCompile(`^"(dyad-[a-z-]+/[0-9]+) ?"$`)
	formatNumber = regexp.MustCompile(`^\w*([fF]ormat|[vV]ersion)$`)
	formatSeed   = regexp.MustCompile(`^"dyad/\w+ (seeded source [0-9]+)[ .]*"$`)
	pathInDocs   = regexp.MustCompile("`((?:\\w+/)+[\\w.]+)`")
	formatInDocs = regexp.MustCompile("`(dyad-[a-z-]+/[0-9]+|seeded source [0-9]+|\\w+` = [0-9]+)")
)

// versions are the versions of formats that a file states: strings such as
// "dyad-model/1", and constants of whole numbers whose names end in Format or Version.
func versions(f *ast.File) []string {
	var found []string
	for n := range ast.Preorder(f) {
		switch n := n.(type) {
		case *ast.BasicLit:
			for _, form := range []*regexp.Regexp{formatText, formatSeed} {
				if m := form.FindStringSubmatch(n.Value); m != nil {
					found = append(found, m[1])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i >= len(n.Values) || !formatNumber.MatchString(name.Name) {
					continue
				}
				if v, ok := n.Values[i].(*ast.BasicLit); ok && v.Kind == token.INT {
					found = append(found, fmt.Sprintf("%s` = %s", name.Name, v.Value))
				}
			}
		}
	}
	return found
}

// TestFormats: docs/formats.md names every version of a file format in the code, and no other.
func TestFormats(t *testing.T) {
	t.Chdir("../..")
	var code []string
	for s := range sources(t) {
		code = append(code, versions(s.file)...)
	}
	text := must.Get(os.ReadFile("docs/formats.md"))(t)
	var docs []string
	for _, m := range formatInDocs.FindAllStringSubmatch(string(text), -1) {
		docs = append(docs, m[1])
	}
	for _, list := range []*[]string{&code, &docs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for _, m := range pathInDocs.FindAllStringSubmatch(string(text), -1) {
		must.Check(os.Stat(filepath.FromSlash(m[1])))(t, "docs/formats.md")
	}
	if len(code) < 8 {
		t.Fatalf("only %d formats were found: %q", len(code), code)
	}
	if !slices.Equal(code, docs) {
		t.Errorf("the code states the versions\n%s\ndocs/formats.md\n%s", strings.Join(code, "\n"), strings.Join(docs, "\n"))
	}
}

// TestGoldenFilesOfEveryFormat: a file of each version that the code writes is in the tests.
func TestGoldenFilesOfEveryFormat(t *testing.T) {
	t.Chdir("../..")
	text := must.Get(os.ReadFile("docs/formats.md"))(t)
	golden := map[string]string{
		"dyad-model/1": "cmd/command/testdata/formats/model-1.json", "dyad-model/2": "cmd/command/testdata/formats/model-2.json", "ledgerFormat` = 1": "privacy/ledger/testdata/ledger3/ledger.jsonl",
		"dyad-checkpoint/2": "algorithms/testdata/formats/run-2.checkpoint", "dyad-stream/4": "algorithms/testdata/formats/stream-4.state",
		"dyad-local-client/1": "algorithms/local/serve/testdata/formats/memory-1.json", "dyad-local-client/2": "algorithms/local/serve/testdata/formats/memory-2.json",
		"dyad-local-token-key/1": "algorithms/local/serve/testdata/formats/token-key-1",
		"protocolVersion` = 3":   "algorithms/local/serve/testdata/formats/messages-3.log", "networkVersion` = 4": "algorithms/local/serve/testdata/formats/messages-4.log",
		"seeded source 1":    "algorithms/testdata/formats/stream-4.state", // drawn with it
		"schemaVersion` = 1": "engine/dataset/catalog/schemas/pima.yaml", "dyad-plan/1": "cmd/command/testdata/formats/model-1-plan.json", "dyad-plan/2": "cmd/command/testdata/formats/model-1-plan-2.json",
		"dyad-checkpoint/3": "algorithms/testdata/formats/run-3.checkpoint", "dyad-audit-part/1": "algorithms/audit/testdata/formats/part-1.audit",
		"dyad-ledger-key/1": "privacy/ledger/testdata/formats/ledger-1.key", "dyad-signature/1": "privacy/ledger/testdata/formats/signature-1.minisig", "dyad-witness/1": "privacy/ledger/testdata/formats/witness-1",
		"dyad-clusters/1":  "cmd/command/testdata/formats/clusters-1.json",
		"dyad-release/1":   "cmd/command/testdata/formats/release-1.json",
		"dyad-drafted/1":   "engine/dataset/testdata/drafted-1.drafted",
		"packVersion` = 1": "cmd/command/testdata/formats/pack-1.dyadpack",
	}
	for _, m := range formatInDocs.FindAllStringSubmatch(string(text), -1) {
		if info, err := os.Stat(filepath.FromSlash(golden[m[1]])); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s has no golden file: %q, %v", m[1], golden[m[1]], err)
		}
		delete(golden, m[1])
	}
	for version := range golden {
		t.Errorf("docs/formats.md does not have %s", version)
	}
	if _, err := os.Stat(golden["dyad-model/99"]); err == nil { // the guard catches a version without a file
		t.Error("a version that nobody wrote has a golden file")
	}
}

// The guard finds every way in which a version is stated.
func TestFormatsSeesVersions(t *testing.T) {
	t.Chdir("../..")
	s := made(t, "x.go", "package x\n\nconst header = \"dyad-new-thing/7 \"\n\nconst (\n\tnewFormat = 3\n\tprotocolVersion, other = 4, 5\n)\n\nvar msg = []byte(\"dyad/privacy seeded source 2 ........\")\n\nconst format = \"csv\"\n")
	got := strings.Join(versions(s.file), "; ")
	if want := "dyad-new-thing/7; newFormat` = 3; protocolVersion` = 4; seeded source 2"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
