package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Comparison is a ranking of the algorithms that apply to the same public numbers.
type Comparison struct {
	Records int `json:"records"`
	// PersonRows is the cap on the number of rows of a person if a record is a person. It is 0 if a record is a row.
	PersonRows int     `json:"max_rows_per_person,omitempty"`
	Features   int     `json:"features"`
	Loss       string  `json:"loss"`
	Lipschitz  float64 `json:"lipschitz"`
	Smooth     float64 `json:"smoothness"`
	Diameter   float64 `json:"pair_diameter"`
	Origin     string  `json:"constants_origin"`
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Radius     float64 `json:"radius"`
	Method     string  `json:"method"`
	// Variation bounds how much the objective of any ranked algorithm can vary on the domain. A utility bound
	// above Variation says nothing.
	Variation float64 `json:"objective_variation"`

	Rows     []Compared `json:"ranking"`    // the algorithms by increasing noise
	Excluded []Excluded `json:"not_ranked"` // the other algorithms in the order of the catalogue

	// Recommended is the algorithm with the fewest visits among the algorithms whose NoiseToReach is at
	// most recommendSlack times the smallest NoiseToReach.
	Recommended string `json:"recommended,omitempty"`
	// BestBound is the algorithm with the smallest utility bound. It is "" if no bound is below Variation.
	BestBound string `json:"best_utility_bound,omitempty"`
}

// Compared holds the numbers of one algorithm that applies.
type Compared struct {
	Algorithm string `json:"algorithm"`
	// L2 is the weight alpha of the L2 term of the algorithm's objective.
	L2 float64 `json:"l2"`
	// Noise is the root mean square norm of the noise in the model before the last
	// projection.
	Noise         float64 `json:"model_noise"`
	NoiseToRadius float64 `json:"noise_to_radius"`
	// NoiseToReach is Noise divided by the distance that the model can move from its start. This distance is
	// G times the sum of the step sizes (half of that if an average iterate is released), but at most what
	// the domain allows. Noise alone would favour a model that hardly moves.
	NoiseToReach float64 `json:"noise_to_reach"`
	TotalStep    float64 `json:"path"`
	// Sums is the number of gradient sums that are evaluated. Pairs is the number of ordered pairs in these
	// sums. Visits estimates the work: a near-linear sum over all pairs visits every record once, and any other
	// sum visits every pair.
	Sums   int     `json:"gradient_sums"`
	Pairs  float64 `json:"pair_gradients"`
	Visits float64 `json:"visits"`
	// Seconds is the value of Plan.Seconds.
	Seconds float64 `json:"estimated_seconds"`
	// Utility is the field Excess of the plan's Utility. It is 0 if no theorem gives a bound.
	Utility       float64 `json:"utility_bound,omitempty"`
	UtilitySource string  `json:"utility_source,omitempty"`
}

// Excluded is one algorithm that is not ranked, with the reason.
type Excluded struct {
	Algorithm string `json:"algorithm"`
	Reason    string `json:"reason"`
	Why       string `json:"-"` // Why is Reason without the name of the algorithm and without the prefix of a package.
}

// recommendSlack is the factor by which NoiseToReach may exceed the smallest one in exchange for less work.
const recommendSlack = 1.05

// Candidate is an algorithm to compare, with its L2 weight. If the caller cannot offer the algorithm, Excluded
// is the reason.
type Candidate struct {
	Algorithm Algorithm
	L2        float64
	Excluded  error
}

// Compare plans every candidate for s, in Certified mode, and ranks the algorithms that apply. It is a pure
// function of public numbers, as a plan is.
func Compare(s Spec, candidates []Candidate) (*Comparison, error) {
	if s.Mode != Certified {
		return nil, fmt.Errorf("algorithms: plans in %s mode have different guarantees and cannot be compared; use "+
			"certified mode", s.Mode)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p, k := s.Kernel.Problem(), s.Constants
	c := &Comparison{
		Records: p.N, PersonRows: p.PersonRows, Features: p.D, Loss: p.Loss.Name(),
		Lipschitz: k.Lipschitz, Smooth: k.Smoothness, Diameter: k.PairDiameter, Origin: k.Origin.String(),
		Epsilon: s.Budget.Epsilon, Delta: s.Budget.Delta, Radius: p.Radius, Method: s.Kernel.Method(),
	}
	for _, a := range candidates {
		name := a.Algorithm.Info().Name
		err := a.Excluded
		if !a.Algorithm.Info().Supports(Certified) {
			err = errors.New("not private")
		}
		if err == nil {
			s.L2 = a.L2
			var plan *Plan
			if plan, err = a.Algorithm.Plan(s); err == nil && plan.Aim.apart != "" {
				if plan.Aim.Loss == "no loss" {
					name = "moment-metric --task metric"
				}
				err = errors.New(plan.Aim.apart + ": its noise cannot be compared; " +
					"see dyad plan " +
					"--algorithm " + name)
			}
			if err == nil {
				c.Rows = append(c.Rows, plan.compared())
				c.Variation = max(c.Variation, s.objectiveLipschitz()*p.Domain().Diameter())
				continue
			}
		}
		c.Excluded = append(c.Excluded, Excluded{name, err.Error(), reason(name, err)})
	}
	slices.SortStableFunc(c.Rows, func(a, b Compared) int {
		return cmp.Or(cmp.Compare(a.Noise, b.Noise), cmp.Compare(a.Visits, b.Visits))
	})
	c.recommend()
	return c, nil
}

// reason returns the text of an error without the name of an algorithm if it is the Refusal of this algorithm.
func reason(of string, err error) string {
	switch r, ok := errors.AsType[*Refusal](err); {
	case !ok:
		return err.Error()
	case r.Of == of:
		return strings.TrimLeft(r.Why.Error(), ": ")
	default:
		return r.Of + r.Why.Error()
	}
}

// recommend fills in Recommended and BestBound.
func (c *Comparison) recommend() {
	if len(c.Rows) == 0 {
		return
	}
	least := slices.MinFunc(c.Rows, func(a, b Compared) int { return cmp.Compare(a.NoiseToReach, b.NoiseToReach) })
	best, bound := least, c.Variation
	for _, r := range c.Rows {
		if r.NoiseToReach <= least.NoiseToReach*recommendSlack && r.Visits < best.Visits {
			best = r
		}
		if r.UtilitySource != "" && r.Utility < bound {
			c.BestBound, bound = r.Algorithm, r.Utility
		}
	}
	c.Recommended = best.Algorithm
}

// compared returns the row of p in a Comparison.
func (p *Plan) compared() Compared {
	s := p.Spec
	noise := p.modelNoise()
	reach := s.Constants.Lipschitz * p.Schedule.TotalStep
	if p.Schedule.Average {
		reach /= 2
	}
	return Compared{
		Algorithm: p.Algorithm, L2: s.L2,
		Noise: noise, NoiseToRadius: noise / s.Kernel.Problem().Radius, NoiseToReach: noise / min(reach, s.startDistance()),
		TotalStep: p.Schedule.TotalStep, Sums: p.Schedule.Steps, Pairs: p.Work.Gradients, Visits: p.visits(),
		Seconds: p.Seconds(),
		Utility: p.Utility.Excess, UtilitySource: p.Utility.Source,
	}
}

// visits estimates the number of records or pairs that the run visits.
func (p *Plan) visits() float64 {
	if len(p.Work.Sums) == 0 || !strings.HasPrefix(p.Spec.Kernel.Method(), "near-linear") {
		return p.Work.Gradients
	}
	sum := 0.0
	for _, s := range p.Work.Sums {
		sum += float64(s.Times) * s.records(p.Spec.Kernel.Problem())
	}
	return sum
}
