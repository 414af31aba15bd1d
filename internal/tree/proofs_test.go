package tree

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

var (
	coqTheorem = regexp.MustCompile(`(?m)^Theorem (\w+)`)
	// A comment or a section says "Checked by Coq: File.theorem, File.theorem."
	coqNamed = regexp.MustCompile(`Checked by Coq:((?:\s|//)+[A-Z]\w+\.\w+[,.])+`)
	coqName  = regexp.MustCompile(`([A-Z]\w+)\.(\w+)[,.]`)
)

// unchecked are the certificates that no theorem of privacy/proofs is about; docs/theory.md#checked-proofs says why.
var unchecked = []string{"certificate_convergent.go", "certificate_online.go", "certificate_outputs.go"}

// proofDefects compares what the proofs state with what certificates and the book name. All three are texts by name.
func proofDefects(proofs, certificates map[string]string, book string, unchecked []string) (defects []string) {
	stated, named := map[string]bool{}, map[string]bool{}
	for name, text := range proofs {
		for _, m := range coqTheorem.FindAllStringSubmatch(text, -1) {
			stated[strings.TrimSuffix(name, ".v")+"."+m[1]] = true
		}
	}
	texts := maps.Clone(certificates)
	texts["docs/theory.md"] = book
	for name, text := range texts {
		lists := coqNamed.FindAllString(text, -1)
		if strings.HasPrefix(name, "certificate_") && (len(lists) == 0) != slices.Contains(unchecked, name) {
			defects = append(defects, fmt.Sprintf("%s: is it checked or not?", name))
		}
		for _, list := range lists {
			for _, m := range coqName.FindAllStringSubmatch(list, -1) {
				named[m[1]+"."+m[2]] = true
				if !stated[m[1]+"."+m[2]] {
					defects = append(defects, fmt.Sprintf("%s names %s.%s, which is not there", name, m[1], m[2]))
				}
			}
		}
	}
	for theorem := range stated {
		if !named[theorem] {
			defects = append(defects, theorem+" is named nowhere")
		}
	}
	slices.Sort(defects)
	return defects
}

// folder has the files of a folder whose names match, without tests.
func folder(t *testing.T, dir, pattern string) map[string]string {
	names := must.Get(filepath.Glob(filepath.Join(filepath.FromSlash(dir), pattern)))(t)
	out := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := must.Get(os.ReadFile(name))(t)
		out[filepath.Base(name)] = string(text)
	}
	return out
}

// TestCertificatesNameTheirProofs: every theorem that .ci/proofs checks is named by the certificate that rests on it or by the book,
// and what they name is there.
func TestCertificatesNameTheirProofs(t *testing.T) {
	t.Chdir("../..")
	proofs, certificates := folder(t, "privacy/proofs", "*.v"), folder(t, "privacy", "*.go")
	book := must.Get(os.ReadFile(filepath.FromSlash("docs/theory.md")))(t)
	for _, d := range proofDefects(proofs, certificates, string(book), unchecked) {
		t.Error(d)
	}
	if len(proofs) < 8 {
		t.Errorf("%d files of proofs", len(proofs))
	}
	// The guard catches what it is for.
	for _, c := range []struct{ proof, comment, want string }{
		{"Theorem sum : True.", "// Checked by Coq: Sums.sum.", ""},
		{"Theorem sum : True.", "// Checked by Coq: Sums.sum, Sums.mean.", "certificate_sums.go names Sums.mean, which is not there"},
		{"Theorem sum : True.\nTheorem mean : True.", "// Checked by Coq: Sums.sum.", "Sums.mean is named nowhere"},
		{"Theorem sum : True.", "// Checked.", "Sums.sum is named nowhere; certificate_sums.go: is it checked or not?"},
	} {
		got := proofDefects(map[string]string{"Sums.v": c.proof}, map[string]string{"certificate_sums.go": c.comment}, "", nil)
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%q and %q: %q, want %q", c.proof, c.comment, got, c.want)
		}
	}
}
