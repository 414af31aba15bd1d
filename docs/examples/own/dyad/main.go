// Command dyad is the program with an algorithm, a loss and a kind of run of its own: "dyad train --algorithm
// normalised-descent --length 0.1", "dyad mean --column age".
package main

import (
	"example.org/own"

	"dyad"
	"dyad/algorithms"
	"dyad/cmd/command"
)

// with is the catalogue of what is added, a line for each. The test runs every kind that is in it.
var with = command.With{
	Algorithms: []algorithms.Algorithm{own.NormalisedDescent{}},
	Losses:     []dyad.Loss{{Name: "softer", Formula: "log1p(exp(-2*u))/2"}},
	Kinds:      []algorithms.Kind{own.Mean{}},
}

func main() { command.Main(with) }
