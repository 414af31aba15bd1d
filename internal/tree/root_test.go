package tree

import "testing"

// mostFiles is what a folder that shows a face has of Go files, tests included.
const mostFiles = 12

// TestRootShowsTheFace: somebody who opens the repository sees package dyad at one glance.
func TestRootShowsTheFace(t *testing.T) {
	t.Chdir("../..")
	count := map[string]int{}
	for _, s := range everything(t) {
		count[s.room]++
	}
	if n := count["."]; n > mostFiles {
		t.Errorf("%d Go files, want at most %d: merge some; tests of the face belong in internal/face, tests of the tree in internal/tree", n, mostFiles)
	}
	if count["cmd/command"] <= mostFiles { // the guard catches what it is for
		t.Error("cmd/command is not crowded: the test sees nothing")
	}
}
