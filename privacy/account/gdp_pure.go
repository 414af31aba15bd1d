package account

import (
	"math"

	"dyad/privacy/internal/round"
)

// PureGDPMu returns the mu for which every epsilon-differentially private mechanism is mu-GDP:
//
//	mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)).
//
// The result is rounded up. For epsilon from 1e-290 to 600, the relative error is at most 1e-11. No smaller
// mu holds for all such mechanisms, because randomised response attains this mu. The value is near epsilon
// sqrt(pi/2) for small epsilon, and at most 2 sqrt(2 epsilon) for all epsilon. It is 0 for epsilon = 0. It
// is +Inf for epsilon = +Inf and for arguments out of range.
//
// Proof: docs/theory.md#pure. The composition theorem needs only lower bounds of trade-off functions. So the
// mu of a pure release composes adaptively with the mu of Gaussian releases: mu^2 = sum of mu_t^2.
func PureGDPMu(epsilon float64) float64 {
	switch {
	case epsilon == 0:
		return 0
	case !(epsilon > 0) || math.IsInf(epsilon, 1):
		return math.Inf(1)
	}
	epsilon = max(epsilon, 1e-290) // mu grows with epsilon; no underflow below
	// Phi(-t) <= exp(-t^2/2)/2, and with t^2 = 2 epsilon that is at most
	// e^-epsilon/2 <= 1/(1+e^epsilon).
	hi := round.Up(2*math.Sqrt(2*epsilon), 4)
	if epsilon > 600 { // near the end of the range of exp
		return hi
	}
	lo := 0.0
	for hi-lo > 0x1p-50*hi {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if coversPure(mid, epsilon) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi // a proved bound, or coversPure(hi, epsilon) was checked
}

// coversPure reports whether 2 Phi^-1(e^epsilon/(1+e^epsilon)) <= mu is proved. For epsilon < 1 it uses the
// total variation: 2 Phi(mu/2) - 1 >= tanh(epsilon/2). For larger epsilon, where the total variation is near
// 1, it uses the tails: Phi(-mu/2) <= 1/(1+e^epsilon). It assumes that math.Exp and math.Tanh are within 4
// units in the last place.
func coversPure(mu, epsilon float64) bool {
	if epsilon < 1 {
		return hockeyStick(-mu/2, mu)*(1-2*gdpMargin) >= math.Tanh(epsilon/2)
	}
	t := mu / 2
	tail := math.Exp(-t*t/2) / (2 * sqrtHalfPi) * mills(t)
	return tail*(1+2*gdpMargin) <= 1/(1+math.Exp(epsilon))
}
