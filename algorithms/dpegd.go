package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// DPEGD is epoch gradient descent: one full-batch descent after the other, each on
// records of its own, with the average iterate of each released ([Xue21] Algorithm 3
// and Theorem 3).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0: every epoch by privacy.AverageDescent, all together by
// account.ParallelEvent (docs/theory.md#dpegd). It covers the outputs of all epochs.
type DPEGD struct {
	// Steps caps T_i, the number of steps of epoch i. 0 means T_i = |D_i|, the
	// paper's number, which costs |D_i| passes over part i.
	Steps int
	// StepSize is eta; epoch i makes steps of 4^-i eta. 0 means the public rule
	// ||C||/G min(4/sqrt n, mu/sqrt d) with mu of the budget, at most 8/(L~+alpha);
	// in Paper mode that of Theorem 3, with epsilon/sqrt(d ln(1/delta)), or epsilon/d
	// for delta = 0, in place of mu/sqrt d.
	StepSize float64
}

// Info describes the algorithm.
func (DPEGD) Info() Info {
	return Info{
		Name:       "dpegd",
		NoGroups:   "dpgdsc or dpgdc",
		NoL2:       map[Mode]string{Paper: "certified mode"},
		OwnKernels: true,
		Title:      "DP epoch gradient descent: disjoint halves of the records, output perturbation of each average",
		Paper:      "[Xue21] Algorithm 3, Theorem 3",
		Assumptions: []string{
			"the pair loss is convex, G-Lipschitz and L-smooth on the ball of radius r",
			"steps at most 2/(L~+alpha), L~ = L + alpha",
			"which records form a part is drawn at random, independent of the data: no stratification or sorting by label",
			"data-independent start",
		},
		Released: "average of the iterates of every epoch plus noise; that of the last epoch is returned",
		Claim:    "(epsilon, delta)-DP with sensitivity 4 G eta_i of epoch i, classical Gaussian noise, parallel composition; epsilon-DP with Laplace noise if delta = 0",
		Verdict:  "valid for replace-one if the partition is by index, every part has its own size as number of steps and eta_i <= 2/L; up to 2x loose. The paper assumes n = 2^k; here part sizes are rounded down and the last part is the rest",
		Maths: `k = floor(log2 n), |D_i| = floor(n/2^i) for i < k, D_k the rest (all at least 2); members by a random order
epoch i: T_i = |D_i| steps w <- Pi_C[w - eta_i (grad L(w; D_i) + alpha w)], eta_i = 4^-i eta, from w_(i-1) (w_0 public)
Delta_i = mean over t of delta_t,  delta_t = c delta_(t-1) + (2/|D_i|) Dg eta_i + 2 rho  (alpha = rho = 0: Dg eta_i (T_i+1)/|D_i|)
release w_i = average + N(0, sigma_i^2 I), sigma_i = Delta_i/mu(epsilon, delta), then project
a record is in one D_i: the outputs before are the same, those after are post-processing, so the cost is max_i mu_i
delta = 0: Z of density proportional to exp(-epsilon ||z||/Delta_i) in place of N(0, sigma_i^2 I)
eta = ||C||/G min(4/sqrt n, mu/sqrt d)
paper: alpha = 0, eta = ||C||/G min(4/sqrt n, epsilon/sqrt(d ln(1/delta))) <= 2/L, sigma_i = 4 sqrt(2 ln(1.25/delta)) G eta_i/epsilon, not projected (the projection here is post-processing);
       delta = 0: eta = ||C||/G min(4/sqrt n, epsilon/d), Lap(4 G eta_i sqrt(d)/epsilon) per coordinate`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified, Paper},
		Withholds:   true,
		PureModes:   []Mode{Certified, Paper},
	}
}

// epochSizes are the sizes of the parts of n >= 2 records: floor(n/2^i) for i < k =
// floor(log2 n), and the rest.
//
// All are at least 2: n >= 2^k, so floor(n/2^i) >= 2 for i < k, and the rest is at
// least n - n (1/2 + ... + 2^-(k-1)) = n/2^(k-1) >= 2. They add up to n.
func epochSizes(n int) []int {
	var sizes []int
	rest := n
	for part := n / 2; part >= 2; part /= 2 { // floor(floor(n/2^i)/2) = floor(n/2^(i+1))
		sizes = append(sizes, part)
		rest -= part
	}
	return append(sizes, rest)
}

// stepSize is eta, checked.
func (a DPEGD) stepSize(s Spec) (eta float64, rule string, err error) {
	p, b := s.Kernel.Problem(), s.Budget
	limit := 4 * s.largestStep() // of eta, for eta_1 = eta/4
	what := "8/(L~+alpha)"
	d := float64(s.coordinates())
	privacyTerm := noiseMu(b, s.coordinates()) / math.Sqrt(d)
	rule = "public rule eta = ||C||/G min(4/sqrt n, mu/sqrt d)"
	if s.Mode == Paper {
		limit, what = s.largestStep(), "2/L"
		rule = "paper: eta = ||C||/G min(4/sqrt n, epsilon/sqrt(d ln(1/delta)))"
		privacyTerm = b.Epsilon / math.Sqrt(d*-math.Log(b.Delta))
		if b.Delta == 0 {
			rule = "paper: eta = ||C||/G min(4/sqrt n, epsilon/d)"
			privacyTerm = b.Epsilon / d
		}
	}
	eta = a.StepSize
	if eta == 0 {
		eta = p.Domain().Diameter() / s.Constants.Lipschitz * min(4/math.Sqrt(float64(p.N)), privacyTerm)
		if s.Mode != Paper {
			eta = min(eta, limit)
		}
	} else {
		rule = "given eta"
	}
	if !(eta <= limit) {
		sigma := ""
		if g, ok := classicalNoise(s, s.Constants.Lipschitz*eta).(privacy.Gaussian); ok && s.Mode == Paper {
			sigma = fmt.Sprintf(", and the noise of epoch 1 would have sigma = %.6g", g.Sigma)
		}
		remedy := ""
		if a.StepSize == 0 { // eta falls with n and grows with epsilon
			most := limit * s.Constants.Lipschitz / p.Domain().Diameter()
			remedy = fmt.Sprintf("; with the rest as it is n = %.0f or epsilon = %.3g would do", math.Ceil(16/(most*most)), most/privacyTerm*b.Epsilon*(1-1e-3))
		}
		return 0, "", fmt.Errorf("%w: dpegd: eta = %.6g exceeds %s = %.6g (L = %.6g)%s%s; give a smaller step size", ErrAssumption, eta, what, limit, s.Constants.Smoothness, sigma, remedy)
	}
	return eta, rule, nil
}

// Plan computes parts, schedule, certificates and noise.
func (a DPEGD) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	if err := (descentOptions{steps: a.Steps, eta: a.StepSize}).validate(a.Info().Name); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	sizes := epochSizes(problem.N)
	if a.Steps == 0 {
		// T_i = |D_i|, so T = n in all.
		if err := checkSteps(a.Info().Name, problem.N); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Kernel, err = (engine.Parts{Backend: s.Backend, Sizes: sizes}).Plan(problem); err != nil {
		return nil, err
	}
	eta, rule, err := a.stepSize(s)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Algorithm: a.Info().Name, Mode: s.Mode, Spec: s,
		Schedule: Schedule{Average: true, Name: fmt.Sprintf("%s = %.6g, epoch i of %d with steps 4^-i eta", rule, eta, len(sizes))},
	}
	var rows Releases
	var noise float64
	for i, size := range sizes {
		e, row, err := a.epoch(s, size, eta*math.Pow(4, -float64(i+1)))
		if err != nil {
			return nil, err
		}
		row.Name, row.Part = fmt.Sprintf("%s in epoch %d", row.Name, i+1), i+1
		rows = append(rows, row)
		norm := row.Noise.NoiseNorm(s.coordinates())
		noise += norm * norm
		p.Schedule.Epochs = append(p.Schedule.Epochs, e)
		p.Schedule.Steps += e.Steps
		p.Schedule.TotalStep += float64(e.Steps) * e.StepSize
		p.Work = p.Work.Sum(e.Steps, engine.SubsetPairs{N: size})
	}
	p.ModelNoise = math.Sqrt(noise)
	if err := p.account("[Xue21] Theorem 3", rows...); err != nil {
		return nil, err
	}
	p.Guarantee.Released = fmt.Sprintf("average iterate of each of %d epochs on disjoint records, with %s noise", len(sizes), p.Noise().Name())
	p.Guarantee.Derivation = fmt.Sprintf("epoch %d, as costly as any; the others read other records: %s", p.Releases.main().Part, p.Guarantee.Derivation)
	return p, nil
}

// epoch plans the descent on a part of size records.
func (a DPEGD) epoch(s Spec, size int, eta float64) (Epoch, Release, error) {
	e := Epoch{Records: size, Steps: size, StepSize: eta}
	if a.Steps > 0 {
		e.Steps = min(size, a.Steps)
	}
	c, err := s.averageDescent(e.Steps, eta, engine.SubsetPairs{N: size}, s.Kernel)
	if err != nil {
		return e, Release{}, err
	}
	if s.Mode == Paper {
		noise := classicalNoise(s, 4*s.Constants.Lipschitz*eta)
		return e, s.release(c, noise, 1), noise.Validate()
	}
	rows, err := s.calibrated(c)
	return e, rows[0], err
}

// Train runs the epochs, each from the released result of the one before.
func (a DPEGD) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	domain := problem.Domain()
	pairs := engine.SubsetPairs{Order: s.Permutation(problem.N)}
	w := domain.Start()
	average := make([]float64, len(w))
	from, err := t.Restore(pairs.Order, w, average)
	if err != nil {
		return nil, err
	}
	steps := 0
	for i, e := range p.Schedule.Epochs {
		before := max(0, from-steps)
		if pairs.N = e.Records; before <= e.Steps {
			done := func(i int) {
				t.Keep(steps+i, pairs.Order, w, average)
				t.Step(steps+i, p.Schedule.Steps)
			}
			if err := p.Spec.descend(ctx, ev, w, average, pairs, before, e.Steps, e.StepSize, done); err != nil {
				return nil, err
			}
			if err := s.Release(average, p.Releases[i].Certificate, p.Releases[i].Noise); err != nil {
				return nil, err
			}
			copy(w, average)
			clear(average)
			if err := domain.Project(w, normAbove(w)); err != nil {
				return nil, err
			}
		}
		pairs.From += e.Records
		steps += e.Steps
	}
	return w, nil
}
