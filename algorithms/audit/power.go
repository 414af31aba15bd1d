package audit

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/privacy"
	"dyad/privacy/account"
)

// Power describes what an audit can show. It is computed before the runs, from the two data sets alone.
type Power struct {
	// Move is the distance that the exact vectors move, divided by the distance that the certificate allows. Even an
	// unlimited number of runs can show at most Move times the claimed mu for Gaussian noise, and at most Move times
	// the claimed epsilon for other noise.
	Move float64
	// Runs is the number of runs in the options. RunsForHalf is approximately the number of runs that is needed to
	// refute half of the claim. It is 0 if no number of runs refutes half of the claim, or if the number is unknown,
	// for example because batches are secret. If the result is the best of a secret number of runs, RunsForHalf is
	// the number for a single run.
	Runs, RunsForHalf int
}

// String returns a sentence about the power.
func (p Power) String() string {
	switch {
	case p.Move == 0:
		return fmt.Sprintf("power: unknown until all %d runs on each data set are made", p.Runs)
	case p.RunsForHalf == 0:
		return fmt.Sprintf("power: without noise, the releases differ by %.3g times the certified distance; half "+
			"of the claim cannot be refuted, or the number of runs for this is unknown", p.Move)
	}
	return fmt.Sprintf("power: without noise, the releases differ by %.3g times the certified distance; about %d "+
		"runs per data set would refute half of the claim; this audit makes %d", p.Move, p.RunsForHalf, p.Runs)
}

// mostRuns is larger than the number of runs of any audit.
const mostRuns = 1 << 30

// Power returns the power of Run with these options.
func (t Target) Power(ctx context.Context, o Options) (p Power, err error) {
	if _, err = t.prepared(&o); err != nil {
		return p, err
	}
	p.Runs = o.Runs
	run := t.stopping()
	if p.Move, err = t.Move(ctx); err != nil || run == nil && (t.secret() || o.Access == BlackBox) {
		return p, err
	}
	c, alpha := t.claim(), (1-o.Confidence)/2
	g := c.Guarantee
	if run != nil {
		p.RunsForHalf = runsForTails(p.Move*run.Mu, g.Epsilon/2, g.Delta, alpha/2)
		return p, nil
	}
	if _, gaussian := c.Noise.(privacy.Gaussian); gaussian && g.Delta > 0 && g.Mu > 0 {
		mu := p.Move * g.Mu
		p.RunsForHalf = runsForGap(mu, account.GDPMu(g.Epsilon/2, g.Delta), math.Sqrt(2+mu*mu/4), alpha)
		return p, nil
	}
	// For pure noise, the likeliest event happens in half of the runs of one side, and in e^-epsilon times this
	// share of the runs of the other side.
	for runs := fewestRuns; (g.Delta == 0 || c.Noise == nil) && runs < mostRuns; runs *= 2 {
		held := runs / 2 // the runs that did not choose the attack
		rare := int(math.Ceil(float64(held) / 2 * math.Exp(-p.Move*g.Epsilon)))
		if math.Log(proportionLower(held/2, held, alpha/2)/proportionUpper(rare, held, alpha/2)) > g.Epsilon/2 {
			p.RunsForHalf = runs
			break
		}
	}
	return p, nil
}

// runsForGap returns about the number of runs on each side that shows that mu is above half. deviation is the standard
// error of an estimate of mu times the root of the number of runs. It returns 0 if no number does.
func runsForGap(mu, half, deviation, alpha float64) int {
	if mu <= half {
		return 0
	}
	need := distuv.UnitNormal.Quantile(1-alpha/4) * deviation / (mu - half)
	return int(max(fewestRuns, min(mostRuns, math.Ceil(need*need))))
}

// Strongest returns the target that needs the fewest runs to refute half of the claim. If this number is
// unknown, it returns the target whose exact vectors move most.
func Strongest(ctx context.Context, targets []Target, o Options) (best Target, power Power, err error) {
	for i, t := range targets {
		p, err := t.Power(ctx, o)
		if err != nil {
			return best, power, err
		}
		better := power.RunsForHalf == 0 || p.RunsForHalf < power.RunsForHalf
		if p.RunsForHalf == 0 {
			better = power.RunsForHalf == 0 && p.Move > power.Move
		}
		if i == 0 || better {
			best, power = t, p
		}
	}
	return best, power, nil
}

// runsForTails returns the number of runs on each side that refutes epsilon at delta by the best threshold between
// N(0, 1) and N(mu, 1). Each of the two tail probabilities is bounded at level alpha. It returns 0 if no number
// refutes epsilon.
func runsForTails(mu, epsilon, delta, alpha float64) int {
	for runs := fewestRuns; runs < mostRuns; runs *= 2 {
		held := runs / 2 // the runs that did not choose the attack
		for z := 0.0; z < 6; z += 0.125 {
			likely := int(float64(held) * distuv.UnitNormal.Survival(z-mu))
			rare := int(math.Ceil(float64(held) * distuv.UnitNormal.Survival(z)))
			if math.Log((proportionLower(likely, held, alpha)-delta)/proportionUpper(rare, held, alpha)) > epsilon {
				return runs
			}
		}
	}
	return 0
}
