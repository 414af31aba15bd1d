package algorithms

import "math"

// Utility is a proved bound on the expected excess training objective of the model over the minimum on the
// domain, in exact arithmetic (docs/theory.md#utility-bounds). The objective is the mean pair loss plus the L2
// term. The zero value means that no theorem gives a number for the plan.
type Utility struct {
	Excess float64
	Source string
}

// better returns the smaller of two bounds.
func (u Utility) better(v Utility) Utility {
	if u.Source == "" || v.Source != "" && v.Excess < u.Excess {
		return v
	}
	return u
}

// objectiveLipschitz returns G~ = G + alpha r, the Lipschitz constant of the objective.
func (s Spec) objectiveLipschitz() float64 {
	return s.Constants.Lipschitz + s.L2*s.Kernel.Problem().Radius
}

// startDistance bounds the distance between the public start and any point of the domain.
func (s Spec) startDistance() float64 {
	p := s.Kernel.Problem()
	return min(p.Domain().Diameter(), p.Radius+p.Domain().StartNorm())
}

// descentUtility bounds f(w) - min f without noise. w is the last one of the iterates w_1..w_T of projected
// gradient descent, or their average.
//
// Let D0 = ||w_0 - w*||, D = diam C, L~ = L + alpha, and G~ the Lipschitz constant of f.
//
//   - If eta <= 1/L~, f decreases and 2 eta sum_t (f(w_t) - f*) <= D0^2. So both the last and the average iterate
//     are within D0^2/(2 eta T) (Beck, First-Order Methods in Optimization, 2017, Theorem 10.21, for the
//     indicator function of C).
//   - The average is within D^2/(2 eta T) + eta G~^2/2 for any eta, from w_1 on (Bubeck, Convex Optimization:
//     Algorithms and Complexity, 2015, Theorem 3.2).
//   - For the last iterate, w* is a fixed point of an update that contracts by c = max(|1 - eta alpha|,
//     |1 - eta L~|). So ||w_T - w*|| <= c^T D0, and f is within G~ c^T D0.
func (s Spec) descentUtility(steps int, eta float64, average bool) Utility {
	if !s.Constants.Convex {
		return Utility{}
	}
	t, far, slope := float64(steps), s.startDistance(), s.objectiveLipschitz()
	smooth := s.Constants.Smoothness + s.L2
	var u Utility
	if eta*smooth <= 1 {
		u = Utility{far * far / (2 * eta * t), "projected gradient descent, D0^2/(2 eta T), D0 = start distance, " +
			"eta = step size, T = steps (Beck 2017, Theorem 10.21)"}
	}
	if average {
		diameter := s.Kernel.Problem().Domain().Diameter()
		return u.better(Utility{diameter*diameter/(2*eta*t) + eta*slope*slope/2,
			"projected subgradient descent, D^2/(2 eta T) + eta G~^2/2, D = diameter, eta = step size, T = steps, " +
				"G~ = slope (Bubeck 2015, Theorem 3.2)"})
	}
	if c := max(math.Abs(1-eta*s.L2), math.Abs(1-eta*smooth)); c < 1 {
		u = u.better(Utility{slope * far * math.Pow(c, t), "contraction, G~ c^T D0 (docs/theory.md#utility-bounds)"})
	}
	return u
}

// outputUtility adds the noise of one release to the bound u. noise is its root mean square norm. f is
// G~-Lipschitz and a projection does not expand, so E f(Pi_C[w + Z]) <= f(w) + G~ E||Z||.
func (s Spec) outputUtility(u Utility, noise float64) Utility {
	if u.Source == "" {
		return u
	}
	return Utility{u.Excess + s.objectiveLipschitz()*noise, u.Source + ", plus G~ E||noise||"}
}

// noisyUtility bounds E f(w) - min f for T steps with independent noise in every gradient. noise is the root
// mean square norm of the noise of a gradient, and B^2 = G~^2 + noise^2.
//
//   - The average of w_0..w_T is within D0^2/(2 eta (T+1)) + eta B^2/2 (Bubeck 2015, Theorem 6.1; a (T+1)-st
//     step need not be made to be counted).
//   - w_T is within the same bound plus eta B^2/2 (1 + 1/2 + ... + 1/T) (Shamir and Zhang, ICML 2013, proof of
//     Theorem 2, with a constant step size: S_k, the mean over the last k+1 iterates, satisfies E S_(k-1) <=
//     E S_k + eta B^2/(2k)).
func (s Spec) noisyUtility(steps int, eta, noise float64, average bool) Utility {
	if !s.Constants.Convex {
		return Utility{}
	}
	far, slope := s.startDistance(), s.objectiveLipschitz()
	square := slope*slope + noise*noise
	u := Utility{far*far/(2*eta*float64(steps+1)) + eta*square/2,
		"D0^2/(2 eta (T+1)) + eta B^2/2 for projected stochastic gradients (Bubeck 2015, Theorem 6.1); T = steps, " +
			"eta = step size, D0 >= distance from start to optimum, B^2 >= mean squared norm of noisy gradients"}
	if average {
		return u
	}
	// 1 + 1/2 + ... + 1/T <= 1 + ln T.
	u.Excess += eta * square / 2 * (1 + math.Log(float64(steps)))
	u.Source = "last iterate of projected stochastic gradients (Shamir and Zhang 2013, Theorem 2, constant steps)"
	return u
}
