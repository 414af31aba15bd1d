package cuda

import (
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/kernels"
)

// TestCompile: every embedded program is compiled, and one that is not a program is named.
func TestCompile(t *testing.T) {
	done, err := openFake(t, newFake()).Device.Compile()
	if err != nil || len(done) != len(kernels.PTXNames()) {
		t.Errorf("%v, %v: want %v", done, err, kernels.PTXNames())
	}
	f := newFake()
	f.edit = func(ptx string) string {
		if strings.Contains(ptx, ".entry pair_sums(") {
			ptx = strings.ReplaceAll(ptx, "cvt.rzi.s64.f64", "frobnicate")
		}
		return ptx
	}
	must.Fail(openFake(t, f).Device.Compile())(t, "pairs.ptx", "a program that does not compile")
}
