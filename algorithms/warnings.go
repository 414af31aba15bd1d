package algorithms

import (
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// signal returns t = n mu/sqrt d with mu = noiseMu. The public rules use t to measure how far a mean over the
// records exceeds the noise that the budget requires. Within query groups n is the number of records for which
// a record would be in the same share of all pairs.
func signal(b privacy.Budget, p engine.Problem) float64 {
	d := p.Loss.ParamDim(p.D)
	return 2 / pairFraction(p.Pairs()) * noiseMu(b, d) / math.Sqrt(float64(d))
}

// These are the smallest t for linear scores that are better than chance, for moments and for descents. In
// bench/results/signal.csv, the AUC is at most 0.5 in 16 % of the runs of moments and 36 % of the runs of
// dpgdsc with t from 2 to 4. The shares are 6 % and 24 % for t from 4 to 8, and 2 % and 11 % for t from 8 to
// 16.
const (
	leastMomentsSignal = 4
	leastDescentSignal = 10
)

// mostEpsilon is the largest epsilon without a warning.
const mostEpsilon = 10

// Warnings returns the warnings that a user should see before any charge. They are about noise that drowns the
// signal, about an epsilon that protects little (with the smallest n or epsilon that would be enough), and about
// a long run time. They are functions of public numbers and part of the report.
func (p *Plan) Warnings() []string {
	out := slices.Clone(p.Cautions)
	if text := p.drowned(); text != "" {
		out = append(out, text)
	}
	if e := p.Guarantee.Epsilon; p.Mode == Certified && e > mostEpsilon && p.Guarantee.Kind != privacy.None {
		text := fmt.Sprintf("epsilon = %.4g protects little: one replaced record can change the probability of a "+
			"model by the factor e^%.4g", e, e)
		if least := p.leastEpsilon(); least > 0 && least < e {
			text += fmt.Sprintf("; with this n, epsilon = %.2g is enough to beat chance", least)
		}
		out = append(out, text)
	}
	if text := p.slow(); text != "" {
		out = append(out, text)
	}
	return out
}

// slowSeconds is the estimated time above which there is a warning.
const slowSeconds = 180

// slow returns a warning with the estimated time of a long run. The warning names an algorithm that takes at
// most a tenth of this time for the same loss and budget, if there is one. slow returns "" for a short run.
func (p *Plan) slow() string {
	seconds := p.Seconds()
	if seconds <= slowSeconds {
		return ""
	}
	text := fmt.Sprintf("%s: %d steps take %s of one core", p.Algorithm, p.Schedule.Steps, Duration(seconds))
	if p.Mode != Certified {
		return text
	}
	for _, other := range []Algorithm{DPGDSC{}, Moments{}} {
		if q, err := other.Plan(p.Spec); err == nil && q.Seconds() <= seconds/10 {
			return text + fmt.Sprintf("; --algorithm %s takes %s", q.Algorithm, Duration(q.Seconds()))
		}
	}
	return text + "; if the algorithm has --steps, lower --steps to save time"
}

// leastSignal returns the t that the plan's algorithm needs. It returns 0 for metrics, streams and other modes,
// for which there is no evidence.
func (p *Plan) leastSignal() float64 {
	if p.Aim.least == 0 || p.Mode != Certified {
		return 0
	}
	if _, scores := p.Spec.Kernel.Problem().Loss.(engine.ScoreLoss); !scores {
		return 0
	}
	return p.Aim.least
}

// drowned returns a warning with remedies if noise drowns the signal, and "" otherwise.
func (p *Plan) drowned() string {
	least := p.leastSignal()
	if least == 0 {
		return ""
	}
	problem, b := p.Spec.Kernel.Problem(), p.Spec.Budget
	t := signal(b, problem)
	if t >= least {
		return ""
	}
	n := float64(problem.N) * least / t
	if b.Delta == privacy.DefaultDelta(problem.N) { // the default delta falls with n
		now := noiseMu(b, p.Spec.coordinates())
		for range 20 {
			b.Delta = privacy.DefaultDelta(int(min(n, 1e15)))
			n = float64(problem.N) * least / t * now / noiseMu(b, p.Spec.coordinates())
		}
	}
	enough := fmt.Sprintf("n = %.0f", math.Ceil(twoDigits(n)))
	if e := p.leastEpsilon(); e <= mostEpsilon {
		enough += fmt.Sprintf(", or epsilon = %.2g", e)
	}
	return fmt.Sprintf("noise drowns the signal: n mu/sqrt d = %.2g, but %s needs %g or more (mu from epsilon and "+
		"delta, d = coordinates); use %s", t,
		p.Algorithm, least, enough)
}

// leastEpsilon returns the smallest epsilon, up to two digits, for which t is leastSignal with the n, d and
// delta of the plan. It returns 0 if leastSignal is 0.
func (p *Plan) leastEpsilon() (epsilon float64) {
	t, b := p.leastSignal(), p.Spec.Budget
	if t == 0 {
		return 0
	}
	// t is proportional to mu, and is leastSignal at this mu.
	mu := noiseMu(b, p.Spec.coordinates()) * t / signal(b, p.Spec.Kernel.Problem())
	if b.Delta == 0 {
		epsilon = mu * math.Sqrt(float64(p.Spec.coordinates())+1)
	} else {
		epsilon = account.GDPEpsilon(mu, b.Delta)
	}
	return twoDigits(epsilon)
}

// twoDigits rounds up to two significant digits.
func twoDigits(x float64) float64 {
	digits := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Ceil(x/digits*(1-1e-9)) * digits
}
