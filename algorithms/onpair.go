package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// OnPairStrC is online pairwise private GIGA for strongly convex objectives
// ([Huai20] Algorithm 1 and Theorem 1).
//
// Guarantee: Certified mode, (epsilon, delta)-DP of all releases together for
// replacing one record, by privacy.PairwiseStream or, with a secret state,
// privacy.StreamOutputs (docs/theory.md#onpair).
type OnPairStrC struct {
	// Reading is ignored in Paper mode, which is line 13 literally.
	Reading Reading
}

// Info describes the algorithm.
func (OnPairStrC) Info() Info {
	return Info{
		Name:  "onpairstrc",
		Title: "online pairwise GIGA, strongly convex: one pass over a stream, an iterate released after every batch",
		Paper: "[Huai20] Algorithm 1, Theorem 1",
		Assumptions: []string{
			"a public maximum n of the number of records",
			"alpha > 0 (L2 term)",
			"with a secret state only: convex, G-Lipschitz and L-smooth pair loss, batch 1, no buffer",
		},
		Released: "every iterate",
		Claim:    "(epsilon, delta)-DP of all iterates with sigma_t^2 = 32 G^2 (n-T1)/(alpha^2 t^2 rho)",
		Verdict:  "valid in both readings, 2x too much noise with a secret state and 37 to 110x with noise fed back; the burn-in T1 = 16 L^2/alpha^2 exceeds n at the paper's alpha",
		Maths: `w_b = Pi_C[w_(b-1) - eta_b (q_b + N(0, sigma^2 I) + alpha w_(b-1))],  q_b = 1/m sum_(t in b) 1/D_t sum_(i in B_t) grad l(w_(b-1); z_t, z_i),  D_t = min(t-1, buffer)
sigma = Dg sqrt(S)/mu(epsilon, delta),  S = max_k sum_b (([k in b] + sum_(t > k in b, k in B_t) p/D_t)/m)^2  (+ 2 rho/Dg in each bracket)
(p = 1; with buffers per class p = 1 + max(1, G/Dg) and k counts in every B_t; m = 1, no buffer limit: S <= pi^2/6 for every n)
secret state: w_t without noise; release w_t + N(0, (scale_t sigma)^2 I), scale_t = max_k delta_t(k), delta_t(k) = c_t delta_(t-1)(k) + Dg eta_t/(t-1) + 2 rho_t
paper: eta_t = (t-1)/(t-2) 2/(alpha t) for t > T1 = max(ceil(16 L^2/alpha^2), 7), w_t = Pi_C[Pi_C[...] + N(0, sigma_t^2 I)]`,
		Modes:   []Mode{Certified, Paper},
		Unsound: noBurnIn,
		NeedsL2: true,
	}
}

// Plan computes schedule, certificate and noise.
func (a OnPairStrC) Plan(s Spec) (*Plan, error) {
	if err := checkStream(a.Info(), s, a.Reading); err != nil {
		return nil, err
	}
	if s.Mode == Paper {
		return planPrinted(a.Info(), s, s.Constants.Lipschitz, s.Constants.Smoothness, "[Huai20] Theorem 1", func(burnIn float64) string {
			return fmt.Sprintf("it needs n >= %.0f at this alpha, or an alpha above %.6g at this n (and n > 7)", burnIn+1, 4*s.Constants.Smoothness/math.Sqrt(float64(s.Horizon-1)))
		})
	}
	if a.Reading == NoiseFedBack {
		return planFedBack(a.Info(), s, true)
	}
	eta := make([]float64, s.Horizon+1)
	for t := 2; t <= s.Horizon; t++ {
		eta[t] = s.largestStep()
		if f := float64(t); t > 2 {
			eta[t] = min(eta[t], (f-1)/(f-2)*2/(s.L2*f))
		}
	}
	return planSecret(a.Info(), s, "eta_t = (t-1)/(t-2) 2/(alpha t), at most 2/(L~+alpha)", eta)
}

// OnPairC is online pairwise private GIGA for convex objectives ([Huai20] Algorithm
// 2 and Theorem 3).
//
// Guarantee: as OnPairStrC.
type OnPairC struct {
	Reading Reading // ignored in Paper mode
	// PaperAlpha is c of alpha = c/sqrt(n) in Paper mode; 0 means 1.
	PaperAlpha float64 `within:"[0,)" called:"PaperAlpha"`
}

// Info describes the algorithm.
func (OnPairC) Info() Info {
	i := OnPairStrC{}.Info()
	i.Name = "onpairc"
	i.Title = "online pairwise GIGA, convex: one pass over a stream, an iterate released after every batch"
	i.Paper = "[Huai20] Algorithm 2, Theorem 3"
	i.Assumptions = []string{i.Assumptions[0], i.Assumptions[2]}
	i.Claim = "(epsilon, delta)-DP of all iterates, by Algorithm 1 on the loss + alpha/2 ||w - w_0||^2, alpha = O(1/sqrt n)"
	i.Verdict = "the noise is enough, but with alpha = c/sqrt(n) it never takes a step for any n unless c > 4(L+alpha); certified mode feeds the noise back and needs no alpha"
	i.NeedsL2 = false
	return i
}

// Plan computes schedule, certificate and noise.
func (a OnPairC) Plan(s Spec) (*Plan, error) {
	if err := checkStream(a.Info(), s, a.Reading); err != nil {
		return nil, err
	}
	if s.Mode == Paper {
		c := a.PaperAlpha
		if c == 0 {
			c = 1
		}
		if err := ranged("onpairc", a); err != nil {
			return nil, err
		}
		s.L2 = c / math.Sqrt(float64(s.Horizon))
		smooth := s.Constants.Smoothness + s.L2
		p, err := planPrinted(a.Info(), s, s.Constants.Lipschitz+s.L2*s.Kernel.Problem().Domain().Diameter(), smooth, "[Huai20] Theorem 3", func(float64) string {
			return fmt.Sprintf("with alpha = c/sqrt(n) it never takes a step unless c > 4(L+alpha) = %.6g, here c = %.6g", 4*smooth, c)
		})
		if p != nil {
			p.stream().centre = s.coordinates()
		}
		return p, err
	}
	if a.Reading == NoiseFedBack {
		return planFedBack(a.Info(), s, false)
	}
	pr := s.Kernel.Problem()
	step := min(s.largestStep(), pr.Domain().Diameter()/(s.Constants.Lipschitz*math.Sqrt(float64(s.Horizon))))
	eta := make([]float64, s.Horizon+1)
	for t := 2; t <= s.Horizon; t++ {
		eta[t] = step
	}
	return planSecret(a.Info(), s, "eta = min(||C||/(G sqrt n), 2/(L~+alpha))", eta)
}

// planPrinted is Algorithm 1 literally, with the guarantee that its noise gives.
//
// Line 13 overwrites w_t, so given the past the release is
// Pi_C[w_{t-1} - eta_t grad] + N(0, sigma_t^2 I). Times alpha t/2, which is public,
// its noise has the same sigma for all t, G sqrt(8 (n-T1)/rho), and it moves by at
// most (t-1)/(t-2) times what the gradient does (a projection is non-expansive):
// privacy.PairwiseStream with these weights.
func planPrinted(i Info, s Spec, lipschitz, smooth float64, theorem string, remedy func(burnIn float64) string) (*Plan, error) {
	n, alpha := s.Horizon, s.L2
	burn := s.printedBurnIn(smooth, alpha)
	l := math.Log(1 / s.Budget.Delta)
	root := s.Budget.Epsilon / (math.Sqrt(l+s.Budget.Epsilon) + math.Sqrt(l)) // of rho
	if burn >= float64(n) {
		return nil, fmt.Errorf("%w: %s as printed never takes a step here: its burn-in is T1 = max(ceil(16 L^2/alpha^2), 7) = %.0f of n = %d records (L = %.6g, alpha = %.6g), so it would output random points only; at t = n, n - T1 = 1 its formula gives sigma = %.6g; %s; certified mode works",
			ErrAssumption, i.Name, burn, n, smooth, alpha, math.Sqrt(32)*lipschitz/(alpha*float64(n)*root), remedy(burn))
	}
	s.BurnIn = int(burn)
	sigma := lipschitz * math.Sqrt(8*float64(n-s.BurnIn)) / root
	p := newStreamPlan(i, s, streamRule{says: NoiseFedBack.String(), last: 2 / (alpha * float64(n)), start: (*Online).startPrinted, release: (*Online).printed})
	p.Schedule.Name = s.unsoundly("paper: eta_t = (t-1)/(t-2) 2/(alpha t) after burn-in T1 = max(ceil(16 L^2/alpha^2), 7)",
		"eta_t = (t-1)/(t-2) 2/(alpha t) from t = 3 on, without the paper's burn-in")
	mean := worstMeanRoundoff(s.Kernel, n)
	u := s.newUpdate(mean)
	u.lipschitz += alpha * u.radius // of OnPairC's term alpha (w - w_0)
	p.stream().eta = func(b int) float64 {
		t := float64(s.BurnIn + b)
		return (t - 1) / (t - 2) * 2 / (alpha * t)
	}
	weights := make([]float64, n-s.BurnIn)
	rho := 0.0
	for b := range weights {
		t := float64(s.BurnIn + b + 1)
		// (t-1)/(t-2) rounds three times; the step size and its product by
		// alpha t/2 five times.
		weights[b] = (t - 1) / (t - 2) * (1 + 0x1p-49)
		if b > 0 {
			weights[b] = min(weights[b], weights[b-1])
		}
		eta := p.stream().eta(b + 1)
		update := eta*(mean+4*0x1p-53*u.lipschitz) + u.roundoff(eta)
		rho = max(rho, (update+0x1p-52*u.radius)*alpha*t/2*(1+0x1p-40))
	}
	c, err := s.pairwise(s.BurnIn, weights, rho).Certify()
	if err != nil {
		return nil, err
	}
	p.Releases = Releases{s.release(c, privacy.Gaussian{Sigma: sigma}, 1)}
	return p, p.finish("noise is fed back, as printed in line 13", &privacy.Claim{
		Source: theorem, Epsilon: s.Budget.Epsilon, Delta: s.Budget.Delta, Sigma: 2 * sigma / (alpha * float64(n)),
	})
}
