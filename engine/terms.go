package engine

import "math"

// TermKernel is a Kernel with two bounds for a smooth loss: Roundoff, the distance to the
// exact gradient, and TermRoundoff, which is smaller where the error lies in the slopes of
// single pairs and not in their sum, as with pairs in float32.
type TermKernel interface {
	Kernel
	// TermRoundoff bounds the distance of GradSum over p to a real-arithmetic sum of
	// terms as Kernel.Roundoff states them for losses that are not smooth: each depends
	// on its two records, their places and w, and on nothing else, and obeys Constants.
	// It holds for every data set within Bounds and every w in the ball of radius
	// Problem.Radius.
	TermRoundoff(p Pairs) float64
}

// TermRoundoff is the smaller of both bounds of a kernel. It is what the certificate of a
// single gradient needs, and not enough for one of a recursion (Kernel.Roundoff).
//
// Proof. The exact sum is one of such terms, so Roundoff is a bound too.
func TermRoundoff(k Kernel, p Pairs) float64 {
	bound := k.Roundoff(p)
	if t, ok := k.(TermKernel); ok {
		bound = math.Min(bound, t.TermRoundoff(p))
	}
	return bound
}
