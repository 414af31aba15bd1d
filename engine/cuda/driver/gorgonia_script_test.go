//go:build linux && !gorgoniacu && !static

package driver

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestBindingsAreRefused: a binding that this build does not have, or that there is not, is an
// error of its own and not the absence of a GPU.
func TestBindingsAreRefused(t *testing.T) {
	for name, want := range map[string]string{"gorgonia": "-tags gorgoniacu", "cuda": "must be libcuda or gorgonia"} {
		t.Setenv(bindingVariable, name)
		if d, err := Open(); d != nil || err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

// TestGorgoniaBinding runs gorgonia.sh with the headers in the folder that DYAD_CUDA_H
// names: the other binding is compiled, linked and passes the suite of the fake driver.
// It takes a minute.
func TestGorgoniaBinding(t *testing.T) {
	headers := os.Getenv("DYAD_CUDA_H")
	if headers == "" {
		t.Skip("DYAD_CUDA_H names no folder with cuda.h; the binding over gorgonia.org/cu is not built")
	}
	out, err := exec.Command("./gorgonia.sh", headers).CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: ") != 7 {
		t.Errorf("gorgonia.sh: %v\n%s", err, out)
	}
}
