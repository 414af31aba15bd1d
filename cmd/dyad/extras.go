package main

import (
	"dyad"
	graphs "dyad/autodiff/gorgonia"
	"dyad/cmd/command"
	"dyad/engine/embedding"
)

// extras are what the program has besides its body: rooms that package dyad and the body stay free of, as values.
// Networks of files are Gorgonia graphs.
var extras = command.With{Networks: []dyad.Network{{Kind: "layers", Build: func(n dyad.Network) (embedding.Network, error) {
	return graphs.NewLayers(*n.Layers, n.Features, n.Dim)
}}}}
