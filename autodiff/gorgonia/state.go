package gorgonia

import (
	"fmt"
	"hash/fnv"
	"reflect"

	"gorgonia.org/gorgonia"
)

// stateful has the operations of Gorgonia that can give different numbers for the same operands, or pass
// numbers of one record to other records.
var stateful = map[string]string{
	"randomOp": "draws numbers", "dropoutOp": "draws numbers", "BatchNormOp": "keeps means of earlier records",
	"letOp": "sets a node", "readOp": "copies values from records into a variable",
}

// remembers returns an error about an operation of a user's graph that can depend on more than its operands.
// Gorgonia's operations are functions of their operands, except for the stateful ones. Operations of other
// packages may keep any state, which a comparison at points need not reveal.
func remembers(g *gorgonia.ExprGraph) error {
	for _, n := range g.AllNodes() {
		if n.Op() == nil {
			continue
		}
		of := reflect.TypeOf(n.Op())
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch why := stateful[of.Name()]; {
		case of.PkgPath() != reflect.TypeFor[gorgonia.Node]().PkgPath():
			return fmt.Errorf("%w: %v is not an operation of Gorgonia and may keep values of earlier records; "+
				"replace it", ErrNotAFunction, of)
		case why != "":
			return fmt.Errorf("%w: operation %s %s; compute such values before Build, or make them parameters (theta)",
				ErrNotAFunction, of.Name(), why)
		}
	}
	return nil
}

// structure returns a hash of what a graph computes: its operations, their operands and shapes, and the
// numbers in it besides the inputs.
func structure(g *gorgonia.ExprGraph, inputs gorgonia.Nodes) uint64 {
	h := fnv.New64a()
	place := map[*gorgonia.Node]int{}
	for i, n := range g.AllNodes() {
		place[n] = i
		fmt.Fprintf(h, "%T %s %v", n.Op(), nameOf(n), n.Shape())
		for _, of := range operands(g, n) {
			fmt.Fprintf(h, " %d", place[of])
		}
		if n.Value() != nil && !inputs.Contains(n) {
			fmt.Fprintf(h, " %x", n.Value().Data()) // every bit of floats
		}
	}
	return h.Sum64()
}
