// Package autodiff holds scalar expressions phi(u) of one real variable. Such an expression defines
// a pairwise loss. The package derives its derivatives, proves properties of them, and compiles
// programs that evaluate them.
//
// An Expr is an immutable expression. Parse reads one from text, and package autodiff/gorgonia
// reads one from a Gorgonia graph. Function.Check compares a derivative with this package's own
// differentiation and with difference quotients of phi.
//
// Check examines points. Function.Prove bounds phi' and its slope, and decides convexity, for all
// real u of a range by interval arithmetic. Expr.StripBound bounds the analytic continuation.
// Expr.Piecewise finds exact polynomials. All of them treat the Expr as exact: its float64
// constants are exact numbers.
//
// Expr.Compile returns a Program that evaluates blocks, and Program.Roundoff bounds the program's
// rounding errors over a range. So a proved property of an Expr holds for the computed values up to
// this bound and Properties.Slack.
package autodiff
