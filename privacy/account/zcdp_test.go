package account_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// The tight conversion is between the exact curve of the Gaussian mechanism and
// the classic formula; its inverse inverts it.
func TestZCDPConversion(t *testing.T) {
	for _, rho := range []float64{1e-12, 1e-4, 0.05, 1, 40} {
		for _, delta := range []float64{0.3, 1e-2, 1e-5, 1e-15, 1e-200} {
			eps := account.ZCDPEpsilon(rho, delta)
			classic := rho + 2*math.Sqrt(-rho*math.Log(delta))
			if exact := account.GDPEpsilon(math.Sqrt(2*rho)*(1-1e-15), delta); eps < exact*(1-1e-12) || eps > classic {
				t.Errorf("rho %v, delta %v: %v, exact Gaussian %v, classic %v", rho, delta, eps, exact, classic)
			}
			must.AtMost(t, account.ZCDPDelta(eps, rho), delta*(1+1e-12), "rho %v: delta(epsilon(%v))", rho, delta)
			if eps > 1e-9 {
				// No order at hand gives less than the minimum over all orders.
				for alpha := 1.0001; alpha < 1e4; alpha *= 1.1 {
					log := (alpha-1)*(alpha*rho-eps) + alpha*math.Log1p(-1/alpha) - math.Log(alpha-1)
					must.AtLeast(t, math.Exp(log), delta*(1-1e-6), "rho %v, delta %v: order %v gives", rho, delta, alpha)
				}
				if back := zcdpRho(eps, delta); math.Abs(back-rho) > 1e-9*rho || account.ZCDPDelta(eps, back) > delta {
					t.Errorf("rho %v, delta %v: inverse %v", rho, delta, back)
				}
			}
		}
	}
	must.Above(t, account.ZCDPEpsilon(math.Inf(1), 0.1), math.MaxFloat64, "infinite rho")
	must.Equal(t, account.ZCDPDelta(math.NaN(), 1), 1, "epsilon NaN")
}

func TestZCDPAccountant(t *testing.T) {
	var a account.ZCDP
	for _, e := range []account.Event{
		account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 2}, 4), // 0.5
		account.GaussianEvent{Sensitivity: 2, Sigma: 2},                    // 0.5
		account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: 2}, 8),  // 1
		account.Repeat(account.PureEvent{Epsilon: 1}, 2),                   // 1
		account.RandomizedResponseEvent{Buckets: 2, Uniform: 1},            // 0
	} {
		must.Do(t, a.Compose(e))
	}
	must.Within(t, a.Rho(), 3, 3*(1+1e-13), "rho")
	var pure account.ZCDP
	must.Do(t, pure.Compose(account.Repeat(account.PureEvent{Epsilon: 3}, 2)))
	if e := pure.Epsilon(0); e < 6 || e > 6*(1+1e-14) || pure.Epsilon(1e-9) > e || pure.Delta(6.1) != 0 {
		t.Errorf("pure epsilons add up to %v", e)
	}
}
