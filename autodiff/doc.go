// Package autodiff holds scalar expressions phi(u) of one real variable: the
// definition of a pairwise loss, its derivatives, what can be proved about them,
// and programs that evaluate them.
//
// An Expr is our own immutable form. Parse reads one from text, and package
// autodiff/gorgonia reads one from a Gorgonia graph. Function.Check compares a
// derivative with our own differentiation and with differences of phi.
//
// Check looks at points. Function.Prove bounds phi' and its slope, and decides
// convexity, for all real u of a range by interval arithmetic; Expr.StripBound
// bounds the analytic continuation; Expr.Piecewise finds exact polynomials. All of
// them take the Expr as exact: its float64 constants stand for themselves.
//
// Expr.Compile gives a Program that evaluates blocks, and Program.Roundoff bounds
// its rounding errors over a range. So what is proved of an Expr holds for the
// computed values up to that number and Properties.Slack.
package autodiff
