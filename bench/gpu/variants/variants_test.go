// Package variants holds kernels that the program does not have.
package variants

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestLock: sources and PTX are what kernels/cuda/build.sh left.
func TestLock(t *testing.T) {
	lock := must.Get(os.ReadFile("variants.lock"))(t)
	var found []string
	for _, pattern := range []string{"*.h", "*.cu", "*.ptx"} {
		names := must.Get(filepath.Glob(pattern))(t)
		for _, name := range names {
			text := must.Get(os.ReadFile(name))(t)
			found = append(found, fmt.Sprintf("%x  %s", sha256.Sum256(text), name))
		}
	}
	if lines := strings.Split(strings.TrimSpace(string(lock)), "\n"); len(found) != 5 || !slices.Equal(found, lines) {
		t.Errorf("variants.lock has\n%s\nwant\n%s", lock, strings.Join(found, "\n"))
	}
}
