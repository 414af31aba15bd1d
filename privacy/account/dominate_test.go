package account_test

import (
	"fmt"
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// mixture is a law on the line: noise of scale 1 around random centres.
type mixture []struct{ weight, centre float64 }

func (m mixture) density(law account.NoiseLaw, x float64) (f float64) {
	for _, c := range m {
		if y := x - c.centre; law == account.GaussianLaw {
			f += c.weight * math.Exp(-y*y/2) / math.Sqrt(2*math.Pi)
		} else {
			f += c.weight * math.Exp(-math.Abs(y)) / 2
		}
	}
	return f
}

// hockeyStick is the divergence of order exp(epsilon) by the midpoint rule, within
// integrationError.
func hockeyStick(law account.NoiseLaw, p, q mixture, epsilon float64) (sum float64) {
	const h = 2e-3
	for x := -16.0; x < 16; x += h {
		sum += h * max(0, p.density(law, x+h/2)-math.Exp(epsilon)*q.density(law, x+h/2))
	}
	return sum
}

// laws on both sides of a subsampled release.
func poissonPair(m, rate, first, second float64) (p, q mixture) {
	return mixture{{1 - rate, 0}, {rate, first * m}}, mixture{{1 - rate, 0}, {rate, second * m}}
}

const integrationError = 5e-6

// The closed divergence of every pair against integration.
func TestSingleDelta(t *testing.T) {
	for _, law := range []account.NoiseLaw{account.GaussianLaw, account.LaplaceLaw} {
		for _, m := range []float64{0.4, 2.5} {
			for _, batch := range []int{1, 3, 4} {
				rate := float64(batch) / 4
				for _, epsilon := range []float64{0, 0.07, 0.6, 2} {
					e := account.PoissonEvent{Event: law.Event(m, 1), Rate: rate, Relation: account.AddRemove}
					replaced := e
					replaced.Relation = account.ReplaceOne
					subset := account.WithoutReplacementEvent{Event: law.Event(m, 1), Batch: batch, Records: 4}
					mix, none := poissonPair(m, rate, 1, 0)
					left, right := poissonPair(m, rate, 1, -1)
					for name, c := range map[string][2]float64{
						"removed":  {account.SingleDelta(e, epsilon, false), hockeyStick(law, mix, none, epsilon)},
						"added":    {account.SingleDelta(e, epsilon, true), hockeyStick(law, none, mix, epsilon)},
						"replaced": {account.SingleDelta(replaced, epsilon, false), hockeyStick(law, left, right, epsilon)},
						"subset":   {account.SingleDelta(subset, epsilon, false), hockeyStick(law, mix, none, epsilon)},
					} {
						must.Near(t, c[0], c[1], integrationError, "%s %s, m %v, rate %v, epsilon %v", law, name, m,
							rate, epsilon)
					}
				}
			}
		}
	}
}

// checkReplaced compares one release on Poisson batches with every pair of
// contributions of a grid: none may cost more than the event says, and one must
// reach it.
func checkReplaced(law account.NoiseLaw, claimed account.PoissonEvent, m, rate, epsilon float64) error {
	worst := 0.0
	for u := -1.0; u <= 1; u += 0.25 {
		for v := -1.0; v <= 1; v += 0.25 {
			p, q := poissonPair(m, rate, u, v)
			worst = max(worst, hockeyStick(law, p, q, epsilon))
		}
	}
	if bound := account.SingleDelta(claimed, epsilon, false); worst > bound+integrationError || worst < bound-integrationError {
		return fmt.Errorf("%s, m %v, rate %v, epsilon %v: worst %v, claimed %v", law, m, rate, epsilon, worst, bound)
	}
	return nil
}

func TestReplacedDominates(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, law := range []account.NoiseLaw{account.GaussianLaw, account.LaplaceLaw} {
		e := account.PoissonEvent{Event: law.Event(1.2, 1), Rate: 0.3, Relation: account.ReplaceOne}
		for _, epsilon := range []float64{0.1, 0.8} {
			must.CheckDo(t, checkReplaced(law, e, 1.2, 0.3, epsilon))
		}
		less := e
		less.Rate = 0.29
		half := e
		half.Relation = account.AddRemove // as if a replaced record moved the query once
		for name, defect := range map[string]account.PoissonEvent{"smaller rate": less, "half the distance": half} {
			if checkReplaced(law, defect, 1.2, 0.3, 0.1) == nil {
				t.Errorf("%s, %s: not rejected", law, name)
			}
		}
	}
}

// subsetMixture is the law of the sum of a uniform batch of records, of which
// each contributes 0 or m: the sum is hypergeometric.
func subsetMixture(ones, records, batch int, m float64) (law mixture) {
	for k := 0; k <= min(ones, batch); k++ {
		if batch-k <= records-ones {
			weight := binomial(ones, k) * binomial(records-ones, batch-k) / binomial(records, batch)
			law = append(law, struct{ weight, centre float64 }{weight, float64(k) * m})
		}
	}
	return law
}

func binomial(n, k int) float64 {
	v := 1.0
	for i := range k {
		v *= float64(n-i) / float64(i+1)
	}
	return v
}

// checkSubset goes through all data sets of four records with contributions 0 or
// m, one of which is replaced: none may cost more than the event says, and one must
// reach it.
func checkSubset(law account.NoiseLaw, claimed account.WithoutReplacementEvent, m float64, batch int) error {
	const epsilon, records = 0.2, 4
	worst := 0.0
	for ones := range records { // and one more in the neighbour
		p, q := subsetMixture(ones+1, records, batch, m), subsetMixture(ones, records, batch, m)
		worst = max(worst, hockeyStick(law, p, q, epsilon), hockeyStick(law, q, p, epsilon))
	}
	if bound := account.SingleDelta(claimed, epsilon, false); worst > bound+integrationError || worst < bound-integrationError {
		return fmt.Errorf("%s, batches of %d: worst %v, claimed %v", law, batch, worst, bound)
	}
	return nil
}

func TestSubsetDominates(t *testing.T) {
	for _, law := range []account.NoiseLaw{account.GaussianLaw, account.LaplaceLaw} {
		for _, batch := range []int{1, 2} {
			e := account.WithoutReplacementEvent{Event: law.Event(1.5, 1), Batch: batch, Records: 4}
			must.CheckDo(t, checkSubset(law, e, 1.5, batch))
			e.Records = 5
			if checkSubset(law, e, 1.5, batch) == nil {
				t.Errorf("%s, a larger data set than there is: not rejected", law)
			}
		}
	}
}

// Two coordinates of Laplace noise, the shift split between them: never more than
// in one coordinate.
func TestLaplaceSplitShift(t *testing.T) {
	const h, m = 0.04, 1.6
	lap := func(x float64) float64 { return math.Exp(-math.Abs(x)) / 2 }
	for _, epsilon := range []float64{0, 0.4, 1.2} {
		one := account.SingleDelta(account.LaplaceEvent{Sensitivity: m, Scale: 1}, epsilon, false)
		for _, a := range []float64{m, 0.75 * m, 0.5 * m} {
			sum := 0.0
			for x := -10 + h/2; x < 10; x += h {
				for y := -10 + h/2; y < 10; y += h {
					sum += h * h * max(0, lap(x-a)*lap(y-(m-a))-math.Exp(epsilon)*lap(x)*lap(y))
				}
			}
			if sum > one+5e-4 || a == m && sum < one-5e-4 {
				t.Errorf("epsilon %v, shift %v + %v: %v, in one coordinate %v", epsilon, a, m-a, sum, one)
			}
		}
	}
}

// Compositions of subsampled releases against direct convolution of losses that
// are rounded down: from above, and close.
func TestPLDSubsampledCompositions(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	const m, rate, count, largest = 1.0, 0.25, 3, 6.0
	phi := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	// Where the loss of mix to f is x, and that of the replaced pair by bisection.
	at := func(x float64) float64 {
		return (math.Log(max(0, math.Exp(x)-(1-rate))/rate) + m*m/2) / m
	}
	atReplaced := func(x float64) float64 {
		lo, hi := -40.0, 40.0
		for range 60 {
			mid := (lo + hi) / 2
			loss := math.Log((1 - rate + rate*math.Exp(m*mid-m*m/2)) / (1 - rate + rate*math.Exp(-m*mid-m*m/2)))
			if loss < x {
				lo = mid
			} else {
				hi = mid
			}
		}
		return lo
	}
	mixTail := func(t float64) float64 { return (1-rate)*phi(-t) + rate*phi(m-t) }
	one := account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: m, Sigma: 1}, Rate: rate, Relation: account.AddRemove}
	e := account.Repeat(one, count)
	one.Relation = account.ReplaceOne
	replaced := account.Repeat(one, count)
	subset := account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: m, Sigma: 1}, Batch: 1, Records: 4}, count)
	for name, c := range map[string]struct {
		event account.Event
		tail  func(float64) float64 // of the loss under P
	}{
		"removed":  {e, func(x float64) float64 { return mixTail(at(x)) }},
		"replaced": {replaced, func(x float64) float64 { return mixTail(atReplaced(x)) }},
		"subset": {subset, func(x float64) float64 {
			if x > 0 {
				return mixTail(at(x))
			}
			return phi(at(-x)) // below 0: mirrored, with the probabilities of f
		}},
	} {
		var a account.PLD
		must.Do(t, a.Compose(c.event))
		for _, epsilon := range []float64{0.05, 0.5, 1.5} {
			low, got := lowerBound(c.tail, largest, 1200, count, epsilon), a.Delta(epsilon)
			must.Within(t, got, low*(1-1e-9), low*1.05+2e-5, "%s, epsilon %v: delta, lower bound %v", name, epsilon, low)
		}
	}
}
