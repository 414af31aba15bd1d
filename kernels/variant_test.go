package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// variants runs a test for every variant of this processor, and says which it skips.
func variants(t *testing.T, test func(t *testing.T, s *Set)) {
	t.Helper()
	for _, v := range []Variant{Generic, AVX2, AVX512} {
		t.Run(v.String(), func(t *testing.T) {
			s, err := Select(v)
			if err != nil {
				t.Skip(err)
			}
			if s.Variant() != v {
				t.Fatalf("Select(%v) returned %v", v, s.Variant())
			}
			test(t, s)
		})
	}
}

func TestSelect(t *testing.T) {
	all := Variants()
	t.Logf("variants of this machine: %v", all)
	must.Equal(t, all[0], Generic, "the first variant")
	must.Equal(t, must.Get(Select(Best))(t).Variant(), all[len(all)-1], "Select(Best)")
	for _, v := range []Variant{-1, AVX512 + 1} {
		must.Err(Select(v))(t, "Select(%d) does not fail", v)
	}
}

var ret = regexp.MustCompile(`(?m)^\s*RET\s*$`)

// dirtyReturns counts the returns of an assembly file without VZEROUPPER directly
// before. Float code of Go is several times slower after such a return.
func dirtyReturns(asm string) (dirty, all int) {
	for _, at := range ret.FindAllStringIndex(asm, -1) {
		all++
		lines := strings.Split(strings.TrimSpace(asm[:at[0]]), "\n")
		if strings.TrimSpace(lines[len(lines)-1]) != "VZEROUPPER" {
			dirty++
		}
	}
	return dirty, all
}

func TestReturnsClearVectors(t *testing.T) {
	if dirty, all := dirtyReturns("TEXT f\n\tVZEROUPPER\n\tRET\nTEXT g\n\tVADDPD\n\tRET\n"); dirty != 1 || all != 2 {
		t.Fatalf("found %d of %d returns, want 1 of 2", dirty, all)
	}
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	for _, name := range files {
		b := must.Get(os.ReadFile(name))(t)
		if dirty, all := dirtyReturns(string(b)); dirty != 0 || all == 0 {
			t.Errorf("%s: %d of %d returns leave vectors in use", name, dirty, all)
		}
	}
}
