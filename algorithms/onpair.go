package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// OnPairStrC is online pairwise private GIGA for strongly convex objectives
// ([Huai20] Algorithm 1 and Theorem 1).
//
// In Certified mode all releases together are (epsilon, delta)-DP for replacing one record. The certificate is
// privacy.PairwiseStream or, with a secret state, privacy.StreamOutputs (docs/theory.md#onpair).
type OnPairStrC struct {
	// Reading states how [Huai20] Algorithm 1 is interpreted. It is ignored in Paper mode, which runs line 13
	// literally.
	Reading Reading
}

// Info describes the algorithm.
func (OnPairStrC) Info() Info {
	return Described("onpairstrc", Info{Modes: []Mode{Certified, Paper}, NeedsL2: true})
}

// Plan computes the schedule, the certificate and the noise.
func (a OnPairStrC) Plan(s Spec) (*Plan, error) {
	if err := checkStream(a.Info(), s, a.Reading); err != nil {
		return nil, err
	}
	if s.Mode == Paper {
		return planPrinted(a.Info(), s, s.Constants.Lipschitz, s.Constants.Smoothness, "[Huai20] Theorem 1", func(burnIn float64) string {
			return fmt.Sprintf("it needs n >= %.0f at this alpha, or an alpha above %.6g at this n (and n > 7)", burnIn+1,
				4*s.Constants.Smoothness/math.Sqrt(float64(s.Horizon-1)))
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
// It has the privacy guarantee of OnPairStrC.
type OnPairC struct {
	Reading Reading // ignored in Paper mode
	// PaperAlpha is the factor c of alpha = c/sqrt(n) in Paper mode. If it is 0, 1 applies.
	PaperAlpha float64 `within:"[0,)" called:"PaperAlpha"`
}

// Info describes the algorithm.
func (OnPairC) Info() Info { return Described("onpairc", Info{Modes: []Mode{Certified, Paper}}) }

// Plan computes the schedule, the certificate and the noise.
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
			return fmt.Sprintf("with alpha = c/sqrt(n) it never takes a step unless c > 4(L+alpha) = %.6g, here c = %.6g",
				4*smooth, c)
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

// planPrinted plans Algorithm 1 literally, with the guarantee that its noise gives.
//
// Line 13 overwrites w_t, so given the past the release is Pi_C[w_{t-1} - eta_t grad] + N(0, sigma_t^2 I).
// Multiplied by alpha t/2, which is public, the noise has the same sigma for all t, G sqrt(8 (n-T1)/rho). The
// multiplied release moves by at most (t-1)/(t-2) times the change of the gradient, because a projection is
// non-expansive. So privacy.PairwiseStream with these weights is its certificate.
func planPrinted(i Info, s Spec, lipschitz, smooth float64, theorem string,
	remedy func(burnIn float64) string) (*Plan, error) {
	n, alpha := s.Horizon, s.L2
	burn := s.printedBurnIn(smooth, alpha)
	l := math.Log(1 / s.Budget.Delta)
	root := s.Budget.Epsilon / (math.Sqrt(l+s.Budget.Epsilon) + math.Sqrt(l)) // the square root of rho

	if !(burn < float64(n)) { // burn is NaN if squares overflowed
		return nil, Refused(i.Name, " as printed never takes a step here: its burn-in is T1 = max(ceil(16 "+
			"L^2/alpha^2), 7) = %.0f of n = %d records (smoothness L = %.6g, strong convexity alpha = %.6g, noise "+
			"sigma = %.6g at n - T1 = 1); %s; certified mode works", burn, n, smooth, alpha,
			math.Sqrt(32)*lipschitz/(alpha*float64(n)*root), remedy(burn))
	}
	s.BurnIn = int(burn)
	sigma := lipschitz * math.Sqrt(8*float64(n-s.BurnIn)) / root
	p := newStreamPlan(i, s, streamRule{says: NoiseFedBack.String(), last: 2 / (alpha * float64(n)),
		start: (*Online).startPrinted, release: (*Online).printed})
	p.Schedule.Name = s.unsoundly("paper: eta_t = (t-1)/(t-2) 2/(alpha t) after burn-in T1 = max(ceil(16 L^2/alpha^2), 7)",
		"eta_t = (t-1)/(t-2) * 2/(alpha t) for t >= 3, without the paper's burn-in")
	mean := worstMeanRoundoff(s.Kernel, n)
	u := s.newUpdate(mean)
	u.lipschitz += alpha * u.radius // the part of OnPairC's term alpha (w - w_0)
	p.stream().eta = func(b int) float64 {
		t := float64(s.BurnIn + b)
		return (t - 1) / (t - 2) * 2 / (alpha * t)
	}
	weights := make([]float64, n-s.BurnIn)
	rho := 0.0
	for b := range weights {
		t := float64(s.BurnIn + b + 1)
		// (t-1)/(t-2) rounds three times. The step size and its product with alpha t/2 round five times.
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
	return p, p.finish("noise stays in the model from update to update, as in line 13 of the paper", &privacy.Claim{
		Source: theorem, Epsilon: s.Budget.Epsilon, Delta: s.Budget.Delta, Sigma: 2 * sigma / (alpha * float64(n)),
	})
}
