package own

import (
	"dyad"
	"dyad/algorithms"
	"dyad/cmd/command"
)

// With is the catalogue of the program in folder dyad: one line for each addition. Its tests run every kind that is in it.
func With() command.With {
	return command.With{
		Algorithms: []algorithms.Algorithm{NormalisedDescent{}},
		Losses:     []dyad.Loss{{Name: "softer", Formula: "log1p(exp(-2*u))/2"}},
		Kinds:      []algorithms.Kind{Mean{}},
	}
}
