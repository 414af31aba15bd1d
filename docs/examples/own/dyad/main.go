// Command dyad is the program with an algorithm and a loss of its own: "dyad train --algorithm normalised-descent --length 0.1".
package main

import (
	"example.org/own"

	"dyad"
	"dyad/algorithms"
	"dyad/cmd/command"
)

func main() {
	command.Main(command.With{
		Algorithms: []algorithms.Algorithm{own.NormalisedDescent{}},
		Losses:     []dyad.Loss{{Name: "softer", Formula: "log1p(exp(-2*u))/2"}},
	})
}
