package algorithms

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// DPEGD is epoch gradient descent: a sequence of full-batch descents on disjoint sets of records. The average
// iterate of each descent is released ([Xue21] Algorithm 3 and Theorem 3).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, or epsilon-DP if delta is 0.
// Each epoch is certified by privacy.AverageDescent, and the composition of all epochs is account.ParallelEvent
// (docs/theory.md#dpegd). The guarantee covers the outputs of all epochs.
type DPEGD struct {
	descends
	// Steps is the upper limit of T_i, the number of steps of epoch i: T_i is min(|D_i|, Steps). If Steps
	// is 0, T_i is |D_i| as in the paper, which costs |D_i| passes over part i.
	Steps int
	// StepSize is eta: epoch i makes steps of size 4^-i eta. If StepSize is 0, the public rule is eta = ||C||/G
	// min(4/sqrt n, mu/sqrt d), but at most 8/(L~+alpha). Here mu is the mu of the budget. In Paper mode, the
	// rule is from Theorem 3: eta = ||C||/G min(4/sqrt n, p), where p is epsilon/sqrt(d ln(1/delta)), or
	// epsilon/d if delta = 0.
	StepSize float64
}

// Info describes the algorithm.
func (DPEGD) Info() Info {
	return Described("dpegd", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified, Paper}, NeedsSmooth: true,
		Withholds: true})
}

// epochSizes returns the sizes of the parts of n >= 2 records: floor(n/2^i) for i < k = floor(log2 n), and one
// part with the remaining records.
//
// All sizes are at least 2. Since n >= 2^k, floor(n/2^i) >= 2 for i < k. The remaining records are at least n -
// n (1/2 + ... + 2^-(k-1)) = n/2^(k-1) >= 2. The sizes add up to n.
func epochSizes(n int) []int {
	var sizes []int
	rest := n
	for part := n / 2; part >= 2; part /= 2 { // floor(floor(n/2^i)/2) = floor(n/2^(i+1))
		sizes = append(sizes, part)
		rest -= part
	}
	return append(sizes, rest)
}

// stepSize returns eta and the rule that gave it, after checking its limit.
func (a DPEGD) stepSize(s Spec) (eta float64, rule string, err error) {
	p, b := s.Kernel.Problem(), s.Budget
	limit := 4 * s.largestStep() // the limit of eta, as epoch 1 has steps of eta/4
	what := "8/(L~+alpha)"
	d := float64(s.coordinates())
	privacyTerm := noiseMu(b, s.coordinates()) / math.Sqrt(d)
	rule = "public rule (diameter ||C||, Lipschitz constant G, budget mu): eta = (||C||/G) * min(4/sqrt n, mu/sqrt d)"
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
			remedy = fmt.Sprintf("; with all other options unchanged, n = %.0f or epsilon = %.3g is enough",
				math.Ceil(16/(most*most)), most/privacyTerm*b.Epsilon*(1-1e-3))
		}
		return 0, "", Refused("dpegd", ": the step size eta = %.6g exceeds %s = %.6g, with smoothness L = "+
			"%.6g%s%s; give a smaller step size", eta, what,
			limit, s.Constants.Smoothness, sigma, remedy)
	}
	return eta, rule, nil
}

// Plan computes the parts, the schedule, the certificates and the noise.
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
		// T_i = |D_i|, so the total number of steps is n.
		if err := checkSteps(a.Info().Name, problem.N); err != nil {
			return nil, err
		}
	}
	if err := s.planParts(a.Info().Name, sizes...); err != nil {
		return nil, err
	}
	eta, rule, err := a.stepSize(s)
	if err != nil {
		return nil, err
	}
	schedule := Schedule{Average: true, Name: fmt.Sprintf("%s = %.6g, epoch i of %d with steps 4^-i eta", rule,
		eta, len(sizes))}
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
		schedule.Epochs = append(schedule.Epochs, e)
		schedule.Steps += e.Steps
		schedule.TotalStep += float64(e.Steps) * e.StepSize
	}
	p := descent{parts: true}.newPlan(a.Info(), s, schedule)
	p.ModelNoise = math.Sqrt(noise)
	if err := p.account("[Xue21] Theorem 3", rows...); err != nil {
		return nil, err
	}
	p.Guarantee.Released = fmt.Sprintf("average iterate of each of %d epochs on disjoint records, with %s noise",
		len(sizes), p.Noise().Name())
	p.Guarantee.Derivation = fmt.Sprintf("no record is in two epochs, so the run costs only its most costly epoch, "+
		"number %d: %s", p.Releases.main().Part,
		p.Guarantee.Derivation)
	return p, nil
}

// epoch plans the descent on a part with the given number of records.
func (a DPEGD) epoch(s Spec, size int, eta float64) (Epoch, Release, error) {
	e := Epoch{Records: size, Steps: size, StepSize: eta}
	if a.Steps > 0 {
		e.Steps = min(size, a.Steps)
	}
	c, err := s.averageDescent(e.Steps, eta, engine.SubsetPairs{N: size}).Certify()
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
