package account_test

import (
	"fmt"
	"math"

	"dyad/privacy/account"
)

// rdpPoissonEpsilon also checks what the row says about its best order and about the
// figure of a program that drops the signs of the series, which is larger.
func rdpPoissonEpsilon(in goldenInputs) (float64, error) {
	v, err := read(freshRDP, poissonGaussian, epsilonOf).compute(in)
	if err != nil {
		return v, err
	}
	if in.has("optimal_order") {
		order := in.number("optimal_order")
		at, err := accounted(&account.RDP{Orders: []float64{order}}, epsilonOf(in), poissonGaussian(in))
		if err != nil {
			return v, err
		}
		in.require(math.Abs(at-v) <= 1e-9*v, "epsilon of order %v is %v, that of all orders %v", order, at, v)
	}
	const other = "google_dp_accounting_0_6_0"
	if in.has(other) {
		u := in.number(other)
		in.require(u >= v*(1-1e-6) && u <= 1.2*v, "%s is %v, and epsilon %v", other, u, v)
	}
	return v, nil
}

// signedSeries is below the epsilon of a program that adds up absolute values of a signed
// series. For the row of the table with its order 4.4, where both differ by 2e-5, it is
// that with the signs, in 25-digit arithmetic; in general that of the privacy loss
// distribution, with its error of less than 1 %.
func signedSeries(in goldenInputs) (float64, error) {
	if in.number("delta") == 1e-5 && in.rate() == 0.01 && in.noise() == 0.7 && in.count() == 120 {
		return 3.23919219391312830, nil
	}
	v, err := read(freshPLD, poissonGaussian, epsilonOf).compute(in)
	return 0.99 * v, err
}

// pureDelta is delta of the PLD accountant at epsilon for T mechanisms that are
// (epsilon0, delta0)-differentially private: those with delta0 are pure with probability
// 1 - delta0 and else without privacy (Kairouz, Oh and Viswanath 2015, Theorem 3.3).
func pureDelta(T int, epsilon0, delta0, epsilon float64) (float64, error) {
	event := account.Repeat(account.PureEvent{Epsilon: epsilon0}, T)
	if most, err := accounted(new(account.PLD), epsilonAt(0), event); err != nil || delta0 == 0 && most <= epsilon*(1+1e-12) {
		return 0, err // within pure epsilon, where the discretisation leaves a delta of 1e-20 or so
	}
	pure, err := accounted(new(account.PLD), deltaAt(epsilon), event)
	return 1 - math.Pow(1-delta0, float64(T))*(1-pure), err
}

// leastComposed is the least of the numbers (T - 2i) epsilon0 at which delta of the
// composition is at most the total: the theorem lists delta at these.
func leastComposed(T int, epsilon0, delta0, total float64) (float64, error) {
	least := math.Inf(1)
	for i := 0; i <= T/2; i++ {
		epsilon := float64(T-2*i) * epsilon0
		delta, err := pureDelta(T, epsilon0, delta0, epsilon)
		if err != nil {
			return 0, err
		}
		if delta > total {
			break
		}
		least = epsilon
	}
	return least, nil
}

func composedEpsilon(in goldenInputs) (float64, error) {
	return leastComposed(in.count(), in.number("epsilon0"), in.number("delta0"), in.number("total_delta"))
}

// composedPerStep is the largest epsilon0 whose composition meets the total.
func composedPerStep(in goldenInputs) (float64, error) {
	T, target := in.count(), in.number("total_epsilon")
	lo, hi := 0.0, target
	for range 40 {
		mid := (lo + hi) / 2
		e, err := leastComposed(T, mid, in.number("delta0"), in.number("total_delta"))
		if err != nil {
			return 0, err
		}
		if e <= target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// binomialDelta is the exact delta of T pure mechanisms at epsilon, up to rounding: the
// number of answers against the record is binomial (Kairouz, Oh and Viswanath 2015).
func binomialDelta(T int, epsilon0, epsilon float64) float64 {
	sum := 0.0
	for l := 0; l <= T; l++ {
		loss := float64(T-2*l) * epsilon0
		if loss <= epsilon {
			break
		}
		all, _ := math.Lgamma(float64(T + 1))
		a, _ := math.Lgamma(float64(l + 1))
		b, _ := math.Lgamma(float64(T - l + 1))
		sum += math.Exp(all-a-b+float64(T-l)*epsilon0-float64(T)*math.Log1p(math.Exp(epsilon0))) * -math.Expm1(epsilon-loss)
	}
	return sum
}

// purePerStep is the largest epsilon0 of T mechanisms that meet the budget, by the
// binomial sum. The PLD accountant must agree within 1e-6: it takes a little less, and
// refuses a little more.
func purePerStep(in goldenInputs) (float64, error) {
	T, epsilon, delta := in.count(), in.number("epsilon"), in.number("delta")
	lo, hi := epsilon/float64(T), epsilon
	for range 100 {
		if mid := (lo + hi) / 2; binomialDelta(T, mid, epsilon) <= delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	for factor, fits := range map[float64]bool{1 - 1e-6: true, 1 + 1e-6: false} {
		d, err := pureDelta(T, lo*factor, 0, epsilon)
		if err != nil {
			return 0, err
		}
		if (d <= delta) != fits {
			return 0, fmt.Errorf("by PLD, delta of %v times the largest epsilon0 %v is %v", factor, lo, d)
		}
	}
	return lo, nil
}

// aboveComposition is a closed form for the composition of pure mechanisms, which must not
// be below the epsilon of the PLD accountant.
func aboveComposition(deltaName string, closed func(epsilon0, delta float64, T int) float64) func(goldenInputs) (float64, error) {
	return func(in goldenInputs) (float64, error) {
		T, epsilon0, delta := in.count(), in.number("epsilon0"), in.number(deltaName)
		v := closed(epsilon0, delta, T)
		e, err := accounted(new(account.PLD), epsilonAt(delta), account.Repeat(account.PureEvent{Epsilon: epsilon0}, T))
		in.require(e <= v && e > 0, "epsilon by PLD is %v, above the closed form %v", e, v)
		return v, err
	}
}

// kairouz is Theorem 3.5 of Kairouz, Oh and Viswanath 2015 for equal mechanisms.
func kairouz(e, delta float64, T int) float64 {
	n := float64(T)
	drift, spread := n*e*math.Expm1(e)/(math.Exp(e)+1), 2*n*e*e
	return min(n*e, drift+math.Sqrt(spread*math.Log(math.E+math.Sqrt(n*e*e)/delta)), drift+math.Sqrt(spread*math.Log(1/delta)))
}
