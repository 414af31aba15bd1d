package gorgonia

import (
	"strings"

	"gorgonia.org/gorgonia"
)

// wrongDerivatives has the operations whose derivatives are wrong, by Gorgonia's names.
var wrongDerivatives = map[string]*UnsupportedError{
	"invSqrt": {"InverseSqrt", "Gorgonia's derivative of this function is wrong; write Inverse(Sqrt(x))"},
	"log2":    {"Log2", "Gorgonia's derivative of this function is wrong; write Log(x)/c with the constant c = log 2"},
}

// wrongOperation returns an *UnsupportedError if a graph has an operation whose values or derivatives are
// wrong in this version of Gorgonia without an error. Difference quotients find a wrong derivative only at
// the points where they are computed, and they do not find a wrong value.
func wrongOperation(g *gorgonia.ExprGraph) error {
	for _, n := range g.AllNodes() {
		switch name := nameOf(n); {
		case n.Deriv() != nil:
			return &UnsupportedError{"Grad",
				"Gorgonia cannot differentiate a gradient correctly; write the gradient as a formula"}
		case wrongDerivatives[name] != nil:
			return wrongDerivatives[name]
		case strings.HasPrefix(name, "MaxPool"):
			return &UnsupportedError{"MaxPool2D",
				"the program would stop if all values in a window were NaN; use NewLayers"}
		case isLogSumExp(g, n):
			return &UnsupportedError{"LogSumExp",
				"Gorgonia computes this operation wrongly; write Log(Sum(Exp(x)))"}
		}
	}
	return nil
}

// isLogSumExp reports whether LogSumExp built the node: the logarithm of a sum of exponentials and a maximum.
func isLogSumExp(g *gorgonia.ExprGraph, n *gorgonia.Node) bool {
	if nameOf(n) != "ln" {
		return false
	}
	for _, sum := range operands(g, n) {
		if !strings.HasPrefix(nameOf(sum), "+ ") {
			continue
		}
		var exponentials, maximum bool
		for _, part := range operands(g, sum) {
			maximum = maximum || strings.HasPrefix(nameOf(part), "Max")
			for _, of := range operands(g, part) {
				exponentials = exponentials || nameOf(of) == "exp"
			}
		}
		if exponentials && maximum {
			return true
		}
	}
	return false
}

// nameOf returns Gorgonia's name of a node's operation, "" for an input.
func nameOf(n *gorgonia.Node) string {
	if n.Op() == nil {
		return ""
	}
	return n.Op().String()
}

// operands returns the operands of a node.
func operands(g *gorgonia.ExprGraph, n *gorgonia.Node) (nodes []*gorgonia.Node) {
	for it := g.From(n.ID()); it != nil && it.Next(); {
		if child, ok := it.Node().(*gorgonia.Node); ok {
			nodes = append(nodes, child)
		}
	}
	return nodes
}
