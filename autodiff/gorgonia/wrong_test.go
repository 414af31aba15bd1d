package gorgonia_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	graphs "dyad/autodiff/gorgonia"
	"dyad/engine/embedding"
	"dyad/internal/must"

	"gorgonia.org/gorgonia"
)

// A network with an operation that Gorgonia has wrong is refused by its name, even where differences cannot tell.
func TestWrongOperationsAreRefused(t *testing.T) {
	mustNode := gorgonia.Must
	for name, of := range map[string]func(z, x, theta *gorgonia.Node) *gorgonia.Node{
		"InverseSqrt": func(z, _, _ *gorgonia.Node) *gorgonia.Node {
			return mustNode(gorgonia.InverseSqrt(mustNode(gorgonia.Exp(z))))
		},
		"Log2": func(z, _, _ *gorgonia.Node) *gorgonia.Node { return mustNode(gorgonia.Log2(mustNode(gorgonia.Exp(z)))) },
		"LogSumExp": func(z, _, _ *gorgonia.Node) *gorgonia.Node {
			return mustNode(gorgonia.Add(z, mustNode(gorgonia.LogSumExp(z, 0))))
		},
		"MaxPool2D": func(z, _, _ *gorgonia.Node) *gorgonia.Node {
			image := mustNode(gorgonia.Reshape(z, []int{1, 1, 1, 3}))
			return mustNode(gorgonia.Reshape(mustNode(gorgonia.MaxPool2D(image, []int{1, 1}, []int{0, 0}, []int{1, 1})), []int{3}))
		},
		"Grad": func(z, x, theta *gorgonia.Node) *gorgonia.Node {
			d, err := gorgonia.Grad(mustNode(gorgonia.Sum(mustNode(gorgonia.Tanh(z)))), theta)
			if err != nil {
				panic(err)
			}
			return mustNode(gorgonia.Mul(d[0], x))
		},
		"": func(z, _, _ *gorgonia.Node) *gorgonia.Node { // the sum of exponentials itself is right
			return mustNode(gorgonia.Add(z, mustNode(gorgonia.Log(mustNode(gorgonia.Sum(mustNode(gorgonia.Exp(z))))))))
		},
	} {
		_, err := graphs.NewNetwork(graphs.Network{
			Name: "small", In: 2, Out: 3, Layers: []embedding.Layer{{Name: "only", Rows: 3, Cols: 2, Radius: 10}},
			Build: func(_ *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
				return of(mustNode(gorgonia.Mul(theta[0], x)), x, theta[0]), nil
			},
		})
		var unsupported *graphs.UnsupportedError
		if name == "" && err == nil {
			continue
		}
		if !errors.As(err, &unsupported) || unsupported.Op != name {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// forbidden are the names of Gorgonia that no file of ours may use: what they compute is wrong (for large numbers: Softplus, Sigmoid) without an error, depends on other
// rows (SoftMax), stops the program (MaxPool2D), or shares memory that later operations overwrite. Grad is called three times, on a graph of its own each.
var forbidden = []string{"InverseSqrt", "LogSumExp", "Log2", "NewLispMachine", "Reshape", "Transpose", "OuterProd", "Repeat", "Slice", "Softplus", "Sigmoid", "SoftMax", "LogSoftMax", "MaxPool2D", "Backpropagate"}

// wrongNames are the forbidden names in a file, and how often it calls Grad.
func wrongNames(f *ast.File) (found []string, grads int) {
	local := ""
	for _, i := range f.Imports {
		if i.Path.Value == `"gorgonia.org/gorgonia"` {
			if local = "gorgonia"; i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				if slices.Contains(forbidden, s.Sel.Name) {
					found = append(found, s.Sel.Name)
				}
				if s.Sel.Name == "Grad" {
					grads++
				}
			}
		}
		return true
	})
	return found, grads
}

// This package, the only one that imports Gorgonia (TestForeignRoots), uses nothing that is wrong in it.
func TestSourcesUseNoWrongOperation(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	calls := 0
	for _, name := range names {
		f := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		found, grads := wrongNames(f)
		if found != nil {
			t.Errorf("%s uses %s of Gorgonia, which is wrong or unsafe", name, strings.Join(found, ", "))
		}
		calls += grads
	}
	if calls != 3 {
		t.Errorf("%d calls of Grad, want those of a loss, a network of one's own and layers: a gradient of a gradient is wrong", calls)
	}
	// The control.
	text := "package x\n\nimport g \"gorgonia.org/gorgonia\"\n\nvar a, b, _ = g.Log2(nil)\n\nvar c = g.NewLispMachine(nil)\n\nvar d, e = g.Grad(nil)\n\nvar h, i = g.Log(nil)\n"
	f := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", text, 0))(t)
	if found, grads := wrongNames(f); !slices.Equal(found, []string{"Log2", "NewLispMachine"}) || grads != 1 {
		t.Errorf("the control: found %v and %d", found, grads)
	}
}
