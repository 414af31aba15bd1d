package account

import (
	"fmt"
	"math"
)

// RDP is an accountant for Renyi differential privacy. At every order alpha > 1, the Renyi divergences of
// adaptive releases add up [Mironov 2017, Proposition 1; docs/theory.md#rdp].
//
// RDP supports GaussianEvent, LaplaceEvent, PureEvent, BoundedRangeEvent, RandomStoppingEvent,
// RandomizedResponseEvent, PoissonEvent with Gaussian noise under AddRemove, WithoutReplacementEvent with
// Gaussian noise, NonPrivateEvent, PublicEvent and ComposedEvent, all of one relation. For any other event,
// and for an event with another relation than earlier events, Compose returns an error that wraps
// ErrUnsupported. No answer is above the sum of pure epsilons, which is the divergence of order infinity.
//
// The zero value is an empty composition and uses defaultOrders.
type RDP struct {
	// Orders are the orders alpha > 1 at which divergences are computed. If Orders is nil, defaultOrders are
	// used. The bounds are valid for every choice of orders. Orders must not change after the first event.
	Orders []float64

	divergence []float64 // divergence of the whole composition at each order, rounded up
	pure       float64   // sum of pure epsilons, +Inf if there is none
	relation   Relation
}

var _ Accountant = (*RDP)(nil)

// defaultOrders are 1.1, 1.2, ..., 10.9, 11, 12, ..., 63, 128, 256, 512, 1024.
func defaultOrders() []float64 {
	var orders []float64
	for i := 1; i < 100; i++ {
		orders = append(orders, 1+float64(i)/10)
	}
	for i := 11; i < 64; i++ {
		orders = append(orders, float64(i))
	}
	return append(orders, 128, 256, 512, 1024)
}

// Compose implements Accountant.
func (a *RDP) Compose(e Event) error {
	next := *a
	if next.Orders == nil {
		next.Orders = defaultOrders()
	}
	for i, order := range next.Orders {
		if !(order > 1) || math.IsInf(order, 1) {
			return fmt.Errorf("account: order %d of the RDP accountant is %v, want a finite number above 1", i+1, order)
		}
	}
	next.divergence = make([]float64, len(next.Orders))
	copy(next.divergence, a.divergence)
	err := leaves(e, func(f facts) error {
		divergence, err := f.divergence()
		if err != nil {
			return err
		}
		if next.relation, err = f.joinRelation(next.relation); err != nil {
			return err
		}
		next.pure = addUp(next.pure, f.pure.times(f.times()))
		for i, order := range next.Orders {
			next.divergence[i] = addUp(next.divergence[i], divergence(order))
		}
		return nil
	})
	if err == nil {
		*a = next
	}
	return err
}

// Divergence returns the orders and, for each order, an upper bound of the Renyi divergence of the whole
// composition.
func (a *RDP) Divergence() (orders, divergence []float64) {
	return append([]float64(nil), a.Orders...), append([]float64(nil), a.divergence...)
}

// Epsilon implements Accountant. It returns the smallest epsilon over all orders [Canonne, Kamath and Steinke
// 2020, Proposition 12].
func (a *RDP) Epsilon(delta float64) float64 {
	best := a.pure
	for i, order := range a.Orders {
		if len(a.divergence) > 0 {
			best = min(best, renyiEpsilon(order, a.divergence[i], delta))
		}
	}
	if math.IsNaN(delta) || delta < 0 {
		return math.Inf(1)
	}
	return best
}

// Delta implements Accountant. It returns the smallest delta over all orders [Canonne, Kamath and Steinke
// 2020, Proposition 12].
func (a *RDP) Delta(epsilon float64) float64 {
	if !(epsilon >= 0) {
		return 1
	}
	if epsilon >= a.pure {
		return 0
	}
	best := 1.0
	for i, order := range a.Orders {
		if len(a.divergence) > 0 {
			best = min(best, renyiDelta(order, a.divergence[i], epsilon))
		}
	}
	return best
}

// renyiEpsilon returns the epsilon >= 0 at delta of a mechanism with Renyi divergence d at order alpha:
//
//	d + log(1 - 1/alpha) - (log delta + log alpha)/(alpha-1),
//
// rounded up. It returns 0 if delta >= sqrt(1 - exp(-d)), which is a bound of the total variation
// [Bretagnolle and Huber 1979; the divergence of order 1 is at most d].
func renyiEpsilon(alpha, d, delta float64) float64 {
	switch {
	case !(delta > 0) || !(d < math.Inf(1)):
		return math.Inf(1)
	case delta >= 1 || delta*delta*(1-1e-15) >= -math.Expm1(-d)*(1+1e-15):
		return 0
	}
	tail := (math.Log(delta) + math.Log(alpha)) / (alpha - 1)
	epsilon := d + math.Log1p(-1/alpha) - tail
	return max(0, epsilon+renyiMargin*(d+1/(alpha-1)+math.Abs(math.Log(delta))/(alpha-1)+1))
}

// renyiMargin is a margin for rounding errors, relative to the terms of a sum.
const renyiMargin = 4e-16

// renyiDelta is the inverse of renyiEpsilon:
//
//	exp((alpha-1)(d - epsilon + log(1 - 1/alpha)))/alpha,
//
// or the bound of the total variation if this bound is smaller. The result is rounded up.
func renyiDelta(alpha, d, epsilon float64) float64 {
	if !(d < math.Inf(1)) {
		return 1
	}
	t := alpha - 1
	exponent := t*(d-epsilon) + t*math.Log1p(-1/alpha) - math.Log(alpha)
	delta := math.Exp(exponent + 4*renyiMargin*(1+t*(d+epsilon)+math.Log(alpha)))
	delta = min(delta, math.Sqrt(-math.Expm1(-d))*(1+2e-15))
	if !(delta < 1) {
		return 1
	}
	return max(delta, minDelta)
}
