package kernels

// The errors of approximate instructions of PTX, in units in the last place of the
// correctly rounded result. They are from PTX ISA 9.1, section 9.7.3.13 (rcp.approx.f32,
// over the full range; the manual leaves open whether from the exact result, which would
// be less) and section 9.7.3.21 (ex2.approx.f32, over the full range). The proofs of
// roundoff for GPUs rest on these two, on approximate instructions that give the same
// result for the same operand, on correct rounding of the others and on nothing else of
// the hardware; package engine/cuda/ptxtest runs kernels with the largest errors.
const (
	ReciprocalUlps = 1
	ExponentUlps   = 2
)

// The same as relative errors of results that are not flushed to zero: k units and the
// half of the rounding, at most 2^-23 each.
const (
	ReciprocalError = (ReciprocalUlps + 0.5) * 0x1p-23
	ExponentError   = (ExponentUlps + 0.5) * 0x1p-23
)

// SigmoidError bounds the error of 1 / (1 + 2^(c x)), c = -log2 e, computed in float32 by
// a product, ex2.approx.ftz, a sum and rcp.approx.ftz.
//
// Proof. Let w = 2^-24, s = sigma(x). The argument of ex2 has relative error 2 w (constant
// and product), which changes s by at most 2 w |x| s (1-s); ex2 by ExponentError = 5 w,
// relatively, changes it by 5 w s (1-s); the sum by w s; and numbers up to 1 have units of
// at most w, so the reciprocal is off by 1.5 w. 2 |x| s (1-s) + 5 s (1-s) + s + 1.5 is at
// most 3.609, near s = 0.718. At a sum of exactly 1 the reciprocal may be 1 + 2 w, and the
// error is below 3 w. The rest of 3.7 is for products of errors. If the exponential or the
// reciprocal is flushed or infinite, s is within 2^-100 of 0 or 1. QED
const SigmoidError = 3.7 * 0x1p-24
