package kernels

// The following constants are the errors of approximate instructions of PTX, in units in the last place of the
// correctly rounded result. They come from PTX ISA 9.1, section 9.7.3.13 (rcp.approx.f32, over the full range)
// and section 9.7.3.21 (ex2.approx.f32, over the full range). The manual does not specify whether the error of
// rcp.approx.f32 is measured from the exact result, which would give a smaller bound. The roundoff proofs for
// GPUs make only three assumptions about the hardware. The two error bounds hold, approximate instructions give
// the same result for the same operand, and all other instructions round correctly. Package engine/cuda/ptxtest
// runs kernels with the largest errors.
const (
	ReciprocalUlps = 1
	ExponentUlps   = 2
)

// ReciprocalError and ExponentError bound the relative errors of the same instructions for results that are
// not flushed to zero. Each is the error of k units plus half a unit for the rounding, where a unit is at
// most 2^-23 of the result.
const (
	ReciprocalError = (ReciprocalUlps + 0.5) * 0x1p-23
	ExponentError   = (ExponentUlps + 0.5) * 0x1p-23
)

// SigmoidError bounds the error of 1 / (1 + 2^(c x)), c = -log2 e, computed in float32 by
// a product, ex2.approx.ftz, a sum and rcp.approx.ftz.
//
// Proof. Let w = 2^-24 and s = sigma(x). The argument of ex2 has relative error 2 w (constant and product),
// which changes s by at most 2 w |x| s (1-s). The relative error ExponentError = 5 w of ex2 changes s by 5 w s
// (1-s), and the rounding of the sum changes s by w s. Numbers up to 1 have units of at most w, so the
// reciprocal is off by 1.5 w. 2 |x| s (1-s) + 5 s (1-s) + s + 1.5 is at most 3.609, near s = 0.718. At a sum of
// exactly 1 the reciprocal may be 1 + 2 w, and the error is below 3 w. The difference between 3.7 and 3.609
// covers products of errors. If the exponential or the reciprocal is flushed or infinite, s is within 2^-100 of
// 0 or 1. QED
const SigmoidError = 3.7 * 0x1p-24
