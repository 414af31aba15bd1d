// Package gorgonia reads losses from Gorgonia graphs, and makes networks of them: NewNetwork of a graph of one's own, NewLayers
// of the layers of a file.
//
// FromGraph translates a graph (gorgonia.org/gorgonia v0.9.18) to an
// autodiff.Function: phi, and the derivative that gorgonia.Grad finds. Its method
// Check compares that derivative with our own differentiation and with differences
// of phi. The comparison is needed because some derivatives of that version are
// silently wrong.
//
// No other room imports Gorgonia, which needs many packages, so a program
// contains it only if it imports this one. Callers need gorgonia.org/gorgonia as well
// and rename one of the two:
//
//	import (
//		graphs "dyad/autodiff/gorgonia"
//		"gorgonia.org/gorgonia"
//	)
package gorgonia
