//go:build linux && !gorgoniacu && !static

package driver

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGorgoniaBinding runs gorgonia.sh with the headers in the folder that DYAD_CUDA_H
// names: the other binding is compiled, linked and passes the suite of the fake driver.
// It takes a minute.
func TestGorgoniaBinding(t *testing.T) {
	headers := os.Getenv("DYAD_CUDA_H")
	if headers == "" {
		t.Skip("DYAD_CUDA_H names no folder with cuda.h; the binding over gorgonia.org/cu is not built")
	}
	out, err := exec.Command("./gorgonia.sh", headers).CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: ") != 4 {
		t.Errorf("gorgonia.sh: %v\n%s", err, out)
	}
}
