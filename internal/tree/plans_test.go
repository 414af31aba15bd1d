package tree

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestPlansAreRows: what a plan promises follows from its rows. A guarantee is assembled in one place, algorithms/unit.go, and
// the counts of what still depends on the kind of a run only fall. It prints them.
func TestPlansAreRows(t *testing.T) {
	t.Chdir("../..")
	guarantees, fields, branches := 0, 0, 0 // 8, 27 and 39 before plans were rows
	for f := range sources(t) {
		guarantees += guaranteesOf(f)
		if f.room == "algorithms" {
			fields += fieldsOf(f.file, "Plan")
		}
		if room, _, _ := strings.Cut(f.room, "/"); room != "engine" && room != "privacy" {
			branches += branchesOf(f.file)
		}
	}
	t.Logf("%d places assemble a guarantee, a plan has %d fields, %d branches ask which kind of run it is", guarantees, fields, branches)
	for _, c := range []struct {
		what      string
		got, most int
	}{{"places that assemble a guarantee (start from algorithms.Unit)", guarantees, 1}, {"fields of algorithms.Plan", fields, 16}, {"branches on fields of one kind of run (put the answer in its rows)", branches, 7}} {
		if c.got > c.most {
			t.Errorf("%d %s, at most %d", c.got, c.what, c.most)
		}
		if c.got < c.most {
			t.Errorf("%d %s: lower the bound of %d", c.got, c.what, c.most)
		}
	}
}

// guaranteesOf counts the composite literals of privacy.Guarantee that set something.
func guaranteesOf(f source) (n int) {
	for c := range nodes[*ast.CompositeLit](f.file) {
		if typ := dotted(c.Type); len(c.Elts) > 0 && (typ == "privacy.Guarantee" || f.room == "privacy" && typ == "Guarantee") {
			n++
		}
	}
	return n
}

// fieldsOf counts the fields of a struct type.
func fieldsOf(f *ast.File, name string) (n int) {
	for s := range nodes[*ast.TypeSpec](f) {
		if typ, ok := s.Type.(*ast.StructType); ok && s.Name.Name == name {
			for _, field := range typ.Fields.List {
				n += max(1, len(field.Names))
			}
		}
	}
	return n
}

// ofOneKind are fields of plans, and of what they have, that one kind of run fills in.
var ofOneKind = []string{"Moments", "Epochs", "Reading", "Horizon", "factor", "printed", "centred"}

// branchesOf counts the conditions on these fields of a plan or a specification.
func branchesOf(f *ast.File) (n int) {
	asks := func(e ast.Node) {
		if e == nil {
			return
		}
		ast.Inspect(e, func(x ast.Node) bool {
			s, ok := x.(*ast.SelectorExpr)
			if !ok || !slices.Contains(ofOneKind, s.Sel.Name) {
				return true
			}
			of := ""
			switch base := s.X.(type) {
			case *ast.Ident:
				of = base.Name
			case *ast.SelectorExpr:
				of = base.Sel.Name
			}
			if of == "Schedule" || s.Sel.Name != "Epochs" && slices.Contains([]string{"p", "plan", "Plan", "Spec", "s"}, of) {
				n++
				return false
			}
			return true
		})
	}
	for x := range ast.Preorder(f) {
		switch x := x.(type) {
		case *ast.IfStmt:
			asks(x.Cond)
		case *ast.CaseClause:
			for _, e := range x.List {
				asks(e)
			}
		case *ast.SwitchStmt:
			if x.Tag != nil {
				asks(x.Tag)
			}
		case *ast.RangeStmt:
			asks(x.X)
		}
	}
	return n
}
