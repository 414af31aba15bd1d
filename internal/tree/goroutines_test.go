package tree

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// bareGoroutines are the goroutines of a file whose panics are not handed to a caller: go
// statements, and calls of Go where the file has a sync.WaitGroup or an errgroup.
func bareGoroutines(f *ast.File) (lines []int) {
	groups := false
	for n := range nodes[*ast.SelectorExpr](f) {
		of := dotted(n)
		groups = groups || of == "sync.WaitGroup" || strings.HasPrefix(of, "errgroup.")
	}
	for n := range ast.Preorder(f) {
		switch n := n.(type) {
		case *ast.GoStmt:
			lines = append(lines, lineOf(n))
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && groups && s.Sel.Name == "Go" {
				lines = append(lines, lineOf(n))
			}
		}
	}
	return lines
}

// TestPanicsOfGoroutinesAreHandedOver: work runs in goroutines of internal/tasks, so that a panic after
// the charge ends with exit code 1 and the run's name.
func TestPanicsOfGoroutinesAreHandedOver(t *testing.T) {
	t.Chdir("../..")
	why := map[string]string{
		"internal/tasks/tasks.go":        "hands them over",
		"engine/cuda/driver/gpu.go":      "jobs run in Group.Try; the rest of the thread attaches and detaches",
		"algorithms/local/serve/http.go": "net/http recovers the panics of requests, and Handler before it",
		"cmd/command/online_reader.go":   "only reads a file or a pipe",
		"internal/experiment/peer.go":    "only reads lines of a process",
		"engine/team/mpi/open_linux.go":  "only calls the library of MPI",
		"engine/enginetest/teamed.go":    "for tests",
	}
	seen := map[string]bool{}
	for s := range sources(t) {
		if lines := bareGoroutines(s.file); len(lines) > 0 && !strings.HasPrefix(s.name, "bench/") {
			if seen[s.name] = true; why[s.name] == "" {
				t.Errorf("%s: lines %d start goroutines whose panics end the program at once, with its records on standard error; use internal/tasks", s.name, lines)
			}
		}
	}
	for name := range why {
		if !seen[name] {
			t.Errorf("%s starts no goroutine: leave it out of the list", name)
		}
	}
	// The guard catches what it is for.
	toy := made(t, "x.go", "package x\n\nfunc f() {\n\tgo f()\n\tvar g sync.WaitGroup\n\tg.Go(f)\n\tvar all tasks.Group\n\tall.Wait()\n}\n")
	if got := bareGoroutines(toy.file); !slices.Equal(got, []int{4, 6}) {
		t.Errorf("found %s, want lines 4 and 6", fmt.Sprint(got))
	}
}
