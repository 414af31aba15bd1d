package privacy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Success returns an upper bound on the probability that the following guess is correct. An adversary knows
// everything except one unit, sees the release, and guesses which of two equally likely values the unit has.
// If there is no guarantee, the bound is 1.
//
// Proof. A test with errors a and b is right with probability 1 - (a+b)/2. Under mu-GDP, a + b is smallest at
// a = b = Phi(-mu/2), where the slope of the trade-off function is -1. So the test is right with probability
// Phi(mu/2) (docs/theory.md#gdp). Under (epsilon, delta)-DP, 1 - b <= e^epsilon a + delta and 1 - a <=
// e^epsilon b + delta add up to a + b >= 2 (1-delta)/(1+e^epsilon). QED
func (g Guarantee) Success() float64 {
	switch {
	case g.Kind == None || g.Kind == Public:
		return 1
	case g.Mu > 0:
		return math.Erfc(-g.Mu/2/math.Sqrt2) / 2
	}
	return 1 - (1-g.Delta)/(1+math.Exp(g.Epsilon))
}

// Words explains in one sentence what the guarantee means for the unit that it protects.
func (g Guarantee) Words() string {
	switch g.Kind {
	case None, Public:
		return g.String()
	case LabelLDP:
		return fmt.Sprintf("epsilon = %s for the LABEL of %s only: %s", inWords(g.Epsilon), g.Unit, g.guess("the message"))
	case LocalDP:
		return fmt.Sprintf("epsilon = %s for %s: %s", inWords(g.Epsilon), g.Unit, g.guess("the message"))
	}
	return fmt.Sprintf("epsilon = %s, delta = %s for %s: %s", inWords(g.Epsilon), inWords(g.Delta), g.Unit,
		g.guess("the result"))
}

// Sentences returns two sentences for readers who do not know the run. The first sentence explains how much
// somebody who sees the release can find out about the protected unit. The second sentence states the
// guarantee in the terms of the field. The argument seen names the release, such as "this model". If there
// is no guarantee, Sentences returns no sentences.
func (g Guarantee) Sentences(seen string) []string {
	if g.Kind == None || g.Kind == Public {
		return nil
	}
	return []string{
		"An" + g.guess(seen)[len("an"):] + ".",
		"In the terms of the field, the release is " + strings.TrimSuffix(g.String(), ".") + ".",
	}
}

// SuccessPercent returns Success in percent, rounded up, for use in texts.
func (g Guarantee) SuccessPercent() string { return percentUp(g.Success()) }

// inWords formats a number for readers, with three digits and rounded up.
func inWords(x float64) string { return formatUp(x, 3) }

// guess describes the risk in words. The text is the end of a sentence.
func (g Guarantee) guess(seen string) string {
	one, single := strings.CutPrefix(g.Unit, "one ")
	used := g.Unit + " were used, or others in their place,"
	switch {
	case g.Kind == LabelLDP:
		used = "the label of a given " + one + " was used, or another in its place,"
	case one == "person" || one == "individual" || one == "user":
		used = "the data of a given " + one + " were used, or another's in their place,"
	case single:
		used = "a given " + one + " was used, or another in its place,"
	}
	return fmt.Sprintf("an attacker who knows everyone else's data and sees %s can guess whether %s with at most %s "+
		"%% success; a random guess has 50 %%", seen, used, percentUp(g.Success()))
}

// percentUp formats a probability in percent, rounded up: to a whole number, or to a tenth if it is above 99.
func percentUp(p float64) string {
	percent := 100 * p * (1 + 1e-12) // covers the rounding errors of p
	if percent > 99 {
		return strconv.FormatFloat(min(math.Ceil(10*percent)/10, 100), 'g', -1, 64)
	}
	return strconv.FormatFloat(math.Ceil(percent), 'g', -1, 64)
}
