package enginetest

import (
	"fmt"
	"math/rand/v2"
)

// RandomFormula returns a random formula in u, in the notation of autodiff.Parse and of about the given depth.
// The formula consists of functions that losses use. It may also branch on the value of one of its parts. Its
// slope is bounded on every bounded interval of u.
func RandomFormula(rng *rand.Rand, depth int) string {
	if depth <= 0 {
		return []string{"u", "(-u)", "(1 - u)", "(u + 0.3)", fmt.Sprintf("(%.3g*u)", 0.1+2*rng.Float64())}[rng.IntN(5)]
	}
	sub := func() string { return RandomFormula(rng, depth-1) }
	constant := fmt.Sprintf("%.2f", 2*rng.Float64()-1)
	switch rng.IntN(16) {
	case 0, 1:
		return "sigmoid(" + sub() + ")"
	case 2:
		return "tanh(" + sub() + ")"
	case 3:
		return "exp(-square(" + sub() + "))"
	case 4:
		return "log1p(exp(-tanh(" + sub() + ")))"
	case 5:
		return "softplus(" + sub() + ")"
	case 6:
		return "sqrt(1 + square(" + sub() + "))"
	case 7, 8:
		return "max(" + sub() + ", " + constant + ")"
	case 9:
		return "min(" + sub() + ", " + sub() + ")"
	case 10, 11:
		return "abs(" + sub() + " - " + constant + ")"
	case 12:
		// The formula is continuous: both branches are 0 where they meet.
		s := sub()
		return fmt.Sprintf("where(%s >= %s, sigmoid(%s - %s) - 0.5, 2*(%s - %s))", s, constant, s, constant, s, constant)
	case 13:
		return "sigmoid(" + sub() + ")*" + sub()
	case 14:
		return "(" + sub() + " - " + sub() + ")"
	}
	return "(" + sub() + " + " + sub() + ")"
}
