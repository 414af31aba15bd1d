//go:build linux && !android && (amd64 || arm64) && !static

package driver

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestLoaderSaysWhy: the loader's answer is kept by thread, so a goroutine that changes its
// thread between call and question would get that of nobody, or of another.
func TestLoaderSaysWhy(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				path := filepath.Join(dir, "missing.so")
				if _, err := open([]string{path}); err == nil || !strings.Contains(err.Error(), "missing.so not found") {
					t.Errorf("error %v does not say what is missing", err)
					return
				}
			}
		})
	}
	all.Wait()
}
