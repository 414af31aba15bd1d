// Package autodiff holds scalar expressions phi(u) of one real variable: the
// definition of a pairwise loss, its derivatives, and the gate that a derivative
// must pass before anything is computed with it.
//
// An Expr is our own immutable form. FromGorgonia reads one from a Gorgonia
// graph (gorgonia.org/gorgonia v0.9.18) together with the derivative that
// gorgonia.Grad finds, and Function.Check compares that derivative with our own
// differentiation and with differences of phi. The comparison is needed because
// some derivatives of that version are silently wrong.
package autodiff
