package tree

import (
	"fmt"
	"path/filepath"
	"testing"

	"dyad/internal/must"
)

// mostFiles is what a folder that shows a face has of Go files, tests included.
const mostFiles = 12

// crowded is an error if a folder has more files than that.
func crowded(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	if len(names) > mostFiles {
		return fmt.Errorf("%d Go files, want at most %d: merge some; tests of the face belong in internal/face, tests of the tree in internal/tree", len(names), mostFiles)
	}
	return nil
}

// TestRootShowsTheFace: somebody who opens the repository sees package dyad at one glance.
func TestRootShowsTheFace(t *testing.T) {
	t.Chdir("../..")
	must.CheckDo(t, crowded("."))
	if crowded("cmd/command") == nil { // the guard catches what it is for
		t.Error("cmd/command is not crowded: the test sees nothing")
	}
}
