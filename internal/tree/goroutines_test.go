package tree

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// bareGoroutines are the goroutines of a file whose panics are not handed to a caller: go
// statements, and calls of Go where the file has a sync.WaitGroup or an errgroup.
func bareGoroutines(files *token.FileSet, f *ast.File) (lines []int) {
	groups := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && (x.Name == "sync" && s.Sel.Name == "WaitGroup" || x.Name == "errgroup") {
				groups = true
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			lines = append(lines, files.Position(n.Pos()).Line)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && groups && s.Sel.Name == "Go" {
				lines = append(lines, files.Position(n.Pos()).Line)
			}
		}
		return true
	})
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
	must.Do(t, goSources(".", func(name string, files *token.FileSet, f *ast.File) error {
		if lines := bareGoroutines(files, f); len(lines) > 0 && !strings.HasPrefix(name, "bench/") {
			if seen[name] = true; why[name] == "" {
				t.Errorf("%s: lines %d start goroutines whose panics end the program at once, with its records on standard error; use internal/tasks", name, lines)
			}
		}
		return nil
	}))
	for name := range why {
		if !seen[name] {
			t.Errorf("%s starts no goroutine: leave it out of the list", name)
		}
	}
	files := token.NewFileSet() // the guard catches what it is for
	f := must.Get(parser.ParseFile(files, "x.go", "package x\n\nfunc f() {\n\tgo f()\n\tvar g sync.WaitGroup\n\tg.Go(f)\n\tvar all tasks.Group\n\tall.Wait()\n}\n", 0))(t)
	if got := bareGoroutines(files, f); !slices.Equal(got, []int{4, 6}) {
		t.Errorf("found %s, want lines 4 and 6", fmt.Sprint(got))
	}
}
