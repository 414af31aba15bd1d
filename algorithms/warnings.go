package algorithms

import (
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// signal is t = n mu/sqrt d, the number by which the public rules know how far a mean over the
// records stands out of the noise that the budget asks for; mu = noiseMu. Within query groups a
// record has the share of pairs that it would have among fewer records.
func signal(b privacy.Budget, p engine.Problem) float64 {
	d := p.Loss.ParamDim(p.D)
	return 2 / pairFraction(p.Pairs()) * noiseMu(b, d) / math.Sqrt(float64(d))
}

// Least t for linear scores that are better than chance, of moments and of descents. In
// bench/results/signal.csv an AUC is at most 0.5 in 16 % of the runs of moments and 36 % of those
// of dpgdsc with t from 2 to 4, in 6 % and 24 % from 4 to 8, in 2 % and 11 % from 8 to 16.
const (
	leastMomentsSignal = 4
	leastDescentSignal = 10
)

// mostEpsilon is the largest epsilon that is not warned about.
const mostEpsilon = 10

// Warnings returns the facts to know about a plan before any charge: noise that drowns the signal, or an epsilon
// that protects little, with the smallest n or epsilon that would do, or a long time. They are functions of
// public numbers, and part of the report.
func (p *Plan) Warnings() []string {
	out := slices.Clone(p.Cautions)
	if text := p.drowned(); text != "" {
		out = append(out, text)
	}
	if e := p.Guarantee.Epsilon; p.Mode == Certified && e > mostEpsilon && p.Guarantee.Kind != privacy.None {
		text := fmt.Sprintf("epsilon = %.4g protects little: with another record in the place of one, a model may be e^%.4g times as likely", e, e)
		if least := p.leastEpsilon(); least > 0 && least < e {
			text += fmt.Sprintf("; with this n, epsilon = %.2g is enough for a model that is better than chance", least)
		}
		out = append(out, text)
	}
	if text := p.slow(); text != "" {
		out = append(out, text)
	}
	return out
}

// slowSeconds is the estimated time that is warned about.
const slowSeconds = 180

// slow tells the estimated time of a long run, and which algorithm takes a tenth of it or less for the same loss
// and budget; "" for a short one.
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
	return text + "; --steps, where the algorithm has it, makes fewer"
}

// leastSignal is the t that the plan's algorithm needs, 0 for what the evidence is not about:
// metrics, streams and other modes.
func (p *Plan) leastSignal() float64 {
	if p.Aim.least == 0 || p.Mode != Certified {
		return 0
	}
	if _, scores := p.Spec.Kernel.Problem().Loss.(engine.ScoreLoss); !scores {
		return 0
	}
	return p.Aim.least
}

// drowned warns that noise drowns the signal and suggests remedies; "" if it does not.
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
	if b.Delta == privacy.DefaultDelta(problem.N) { // which falls with n
		now := noiseMu(b, p.Spec.coordinates())
		for range 20 {
			b.Delta = privacy.DefaultDelta(int(min(n, 1e15)))
			n = float64(problem.N) * least / t * now / noiseMu(b, p.Spec.coordinates())
		}
	}
	enough := fmt.Sprintf("n = %.0f", twoDigits(n))
	if e := p.leastEpsilon(); e <= mostEpsilon {
		enough += fmt.Sprintf(", or epsilon = %.2g", e)
	}
	return fmt.Sprintf("noise drowns the signal: n mu/sqrt d = %.2g, and %s needs %g for a model that is better than chance; with the rest as it is, %s would do", t, p.Algorithm, least, enough)
}

// leastEpsilon is the smallest epsilon, up to two digits, for which t is leastSignal with the n,
// d and delta of the plan; 0 if the algorithm has none.
func (p *Plan) leastEpsilon() (epsilon float64) {
	t, b := p.leastSignal(), p.Spec.Budget
	if t == 0 {
		return 0
	}
	// t is proportional to mu, and 1 at this mu.
	mu := noiseMu(b, p.Spec.coordinates()) * t / signal(b, p.Spec.Kernel.Problem())
	if b.Delta == 0 {
		epsilon = mu * math.Sqrt(float64(p.Spec.coordinates())+1)
	} else {
		epsilon = account.GDPEpsilon(mu, b.Delta)
	}
	return twoDigits(epsilon)
}

// twoDigits rounds up.
func twoDigits(x float64) float64 {
	digits := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Ceil(x/digits*(1-1e-9)) * digits
}
