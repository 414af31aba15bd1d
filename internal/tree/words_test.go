package tree

import (
	"go/ast"
	"go/printer"
	"regexp"
	"strings"
	"testing"
)

var (
	// looksInto are the functions of strings and bytes, and the methods of regexp, that look into a text.
	looksInto = regexp.MustCompile(`^(?:Contains|ContainsFunc|HasPrefix|HasSuffix|Index|LastIndex|Cut|CutPrefix|CutSuffix|Split|SplitN|SplitSeq|` +
		`Lines|Fields|EqualFold|TrimPrefix|TrimSuffix|Replace|ReplaceAll|MatchString|FindString.*|ReplaceAllString.*)$`)
	// messages are the fields and methods that hold texts for people.
	messages = regexp.MustCompile(`^(?:Error|Text|Report|Words|message|Guarantee|Derivation|Reason|Rule|Why|Warning|Warnings|Problem|Verdict|Statement|Skipped|Message)$`)
)

// readMessages are the calls of a file that look into a text that was made for people: an error, a reason, a warning or a report.
func readMessages(f *ast.File) (calls []string) {
	texts := map[string]bool{} // variables that hold such a text
	says := func(of ast.Expr) (found bool) {
		ast.Inspect(of, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				found = found || messages.MatchString(n.Sel.Name)
			case *ast.Ident:
				found = found || texts[n.Name] || n.Name == "message"
			}
			return !found
		})
		return found
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			clear(texts)
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) {
					texts[name.Name] = says(n.Rhs[i])
				}
			}
		case *ast.RangeStmt:
			if name, ok := n.Value.(*ast.Ident); ok {
				texts[name.Name] = says(n.X)
			}
		case *ast.CallExpr:
			fun, ok := n.Fun.(*ast.SelectorExpr)
			if name := dotted(n.Fun); strings.HasPrefix(name, "slices.") || strings.HasPrefix(name, "files.") {
				return true
			}
			if ok && len(n.Args) > 0 && looksInto.MatchString(fun.Sel.Name) && says(n.Args[0]) {
				var text strings.Builder
				_ = printer.Fprint(&text, positions, n)
				calls = append(calls, text.String())
			}
		}
		return true
	})
	return calls
}

// TestMessagesAreNotRead: code decides by values, and not by the words of an error, a reason or a report. The counts are those of calls
// that only show a text otherwise, read a text of a durable format, or read a text of another program; they may only fall.
func TestMessagesAreNotRead(t *testing.T) {
	t.Chdir("../..")
	left, found := map[string]int{
		"cmd/command/app.go":               3,
		"cmd/command/approval.go":          2,
		"cmd/command/config.go":            2,
		"cmd/command/judged.go":            1,
		"cmd/command/ledger.go":            3,
		"cmd/command/local_client.go":      1,
		"cmd/command/log.go":               2,
		"cmd/command/report.go":            2,
		"cmd/command/verify.go":            1,
		"engine/cuda/driver/gpu.go":        1,
		"engine/cuda/driver/open_linux.go": 1,
		"engine/cuda/tune.go":              1,
		"engine/export/snippet.go":         1,
		"internal/machine/cases/cpu.go":    1,
		"internal/machine/cases/peers.go":  2,
		"internal/memory/memory_linux.go":  1,
		"internal/must/must.go":            1,
		"internal/tasks/tasks.go":          1,
		"privacy/ledger/resume.go":         1,
	}, map[string]int{}
	for s := range sources(t) {
		calls := readMessages(s.file)
		if found[s.name] = len(calls); len(calls) > left[s.name] {
			t.Errorf("%s reads the words of texts, and %d such calls are known: %q; hand on a value or an error that errors.Is finds", s.name, left[s.name], calls)
		}
	}
	for name, n := range left {
		if found[name] < n {
			t.Errorf("%s has %d calls that read texts, and not %d: lower the number", name, found[name], n)
		}
	}
	f := made(t, "a.go", `package a
func a(err error) { b := err.Error(); _ = strings.HasPrefix(b, "no "); _ = strings.Cut(name, "=") }
func c(r T) { for _, w := range r.Warnings { _ = strings.Contains(w, "seed") } }
`)
	if calls := readMessages(f.file); len(calls) != 2 {
		t.Errorf("an error and a warning that are read: %q", calls)
	}
}
