// Package gorgonia reads losses from Gorgonia graphs and makes networks. NewNetwork makes a network from
// a user's graph, and NewLayers makes a network from the layers of a file.
//
// FromGraph translates a graph (gorgonia.org/gorgonia v0.9.18) to an autodiff.Function: phi, and the
// derivative that gorgonia.Grad finds. The method Check of the function compares that derivative with our own
// differentiation and with difference quotients of phi. The comparison is needed because this version
// computes some derivatives wrongly and returns no error.
//
// No other package of this module imports Gorgonia, which needs many packages. So a program contains Gorgonia
// only if it imports this package. Callers also need gorgonia.org/gorgonia and rename one of the two:
//
//	import (
//		graphs "dyad/autodiff/gorgonia"
//		"gorgonia.org/gorgonia"
//	)
package gorgonia
