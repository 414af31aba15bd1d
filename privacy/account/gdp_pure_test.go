package account_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// gaussianTradeOff is G_mu(alpha) = Phi(Phi^-1(1-alpha) - mu), at alpha = Phi(-q).
func gaussianTradeOff(q, mu float64) (alpha, beta float64) { return phi(-q), phi(q - mu) }

// pureTradeOff is the smallest type II error at alpha of an epsilon-DP mechanism.
func pureTradeOff(epsilon, alpha float64) float64 {
	return max(0, 1-math.Exp(epsilon)*alpha, math.Exp(-epsilon)*(1-alpha))
}

// The theorem behind PureGDPMu, at points of the whole curve: no epsilon-DP
// mechanism has smaller errors than the Gaussian one. One percent less mu fails.
func TestPureGDPMuCoversTheTradeOffCurve(t *testing.T) {
	below := func(mu, epsilon float64) (covered bool) {
		for q := -9.0; q <= 9; q += 1.0 / 128 {
			alpha, beta := gaussianTradeOff(q, mu)
			if beta > pureTradeOff(epsilon, alpha)*(1+1e-11)+1e-13 {
				return false
			}
		}
		// the kink, where the curves touch
		alpha, beta := gaussianTradeOff(mu/2, mu)
		return beta <= pureTradeOff(epsilon, alpha)*(1+1e-11)+1e-15
	}
	for _, epsilon := range []float64{1e-9, 1e-3, 0.1, 0.5, 0.999999, 1, 1.000001, 2, 5, 12} {
		mu := account.PureGDPMu(epsilon)
		if !below(mu, epsilon) {
			t.Errorf("epsilon %v: %v-GDP does not cover the trade-off curve", epsilon, mu)
		}
		if epsilon > 1e-6 && below(0.99*mu, epsilon) {
			t.Errorf("epsilon %v: 1 %% less mu covers it too", epsilon)
		}
	}
}

// Randomised response is epsilon-DP and attains the curve, so its delta(0), its
// total variation tanh(epsilon/2), must be at most that of the Gaussian curve and
// equal to it: mu is right on both sides. Small mu are e sqrt(pi/2).
func TestPureGDPMuValues(t *testing.T) {
	last := 0.0
	for e := 1e-12; e < 600; e *= 1.07 {
		mu := account.PureGDPMu(e)
		if !(mu > last) || mu > 2*math.Sqrt(2*e)*(1+1e-12) {
			t.Fatalf("epsilon %v: mu %v after %v", e, mu, last)
		}
		last = mu
		if e < 20 {
			if tv, want := account.GDPDelta(0, mu), math.Tanh(e/2); tv < want*(1-4e-12) || tv > want*(1+2e-11) {
				t.Fatalf("epsilon %v: total variation %v of %v-GDP, want %v", e, tv, mu, want)
			}
		}
		if tail, want := phi(-mu/2), 1/(1+math.Exp(e)); e > 0.01 && (tail > want*(1+1e-12) || tail < want*(1-1e-9)) {
			t.Fatalf("epsilon %v: tail %v at mu/2, want %v", e, tail, want)
		}
		if small := e * math.Sqrt(math.Pi/2); e < 1e-4 && math.Abs(mu/small-1) > 1e-8 {
			t.Fatalf("epsilon %v: mu %v, want near %v", e, mu, small)
		}
	}
	for _, c := range []struct{ epsilon, want float64 }{{0, 0}, {math.Inf(1), math.Inf(1)}, {-1, math.Inf(1)}, {math.NaN(), math.Inf(1)}} {
		must.Equal(t, account.PureGDPMu(c.epsilon), c.want, "PureGDPMu(%v)", c.epsilon)
	}
	if mu := account.PureGDPMu(1e4); math.Abs(mu-2*math.Sqrt(2e4)) > 1e-9*mu {
		t.Errorf("PureGDPMu(1e4) = %v", mu)
	}
	if mu := account.PureGDPMu(5e-324); !(mu > 0 && mu < 1e-289) {
		t.Errorf("PureGDPMu of the smallest number is %v", mu)
	}
}

// Pure and Gaussian releases in one total: never above either bound, never below
// what the Gaussian part alone or a pure part alone costs.
func TestGDPComposesPureEvents(t *testing.T) {
	gauss := account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 4}, 3)
	var only account.GDP
	must.Do(t, only.Compose(gauss))
	compose := func(events ...account.Event) *account.GDP {
		var a account.GDP
		for _, e := range events {
			must.Do(t, a.Compose(e))
		}
		return &a
	}
	// Pure releases alone: basic composition, at every delta, and delta = 0 too.
	pure := compose(account.Repeat(account.PureEvent{Epsilon: 0.25}, 3), account.LaplaceEvent{Sensitivity: 1, Scale: 4})
	for _, delta := range []float64{0, 1e-300, 1e-9} {
		must.Within(t, pure.Epsilon(delta), 1, 1+1e-14, "four releases of 0.25 at delta %v", delta)
	}
	must.Equal(t, pure.Delta(1+1e-13), 0, "delta above the pure epsilon")
	if d, tv := pure.Delta(0), math.Tanh(0.5); !(d > 0) || d > tv {
		t.Errorf("delta(0) is %v, want at most %v", d, tv)
	}
	// Many small ones: GDP is better than the sum.
	many := compose(account.Repeat(account.PureEvent{Epsilon: 0.01}, 10_000))
	mu := 100 * account.PureGDPMu(0.01)
	if e, want := many.Epsilon(1e-5), account.GDPEpsilon(mu, 1e-5); e < want*(1-1e-12) || e > want*(1+1e-9) || e > 10 {
		t.Errorf("10000 releases of 0.01: epsilon %v, want %v", e, want)
	}
	// Mixed.
	both := compose(gauss, account.PureEvent{Epsilon: 0.5})
	square := only.Mu()*only.Mu() + account.PureGDPMu(0.5)*account.PureGDPMu(0.5)
	must.Within(t, both.Mu()*both.Mu(), square*(1-1e-15), square*(1+1e-12), "mu^2, want %v", square)
	for _, delta := range []float64{1e-9, 1e-5, 1e-2} {
		e, alone := both.Epsilon(delta), only.Epsilon(delta)
		if e <= alone || e > alone+0.5+1e-12 || e > account.GDPEpsilon(both.Mu(), delta) {
			t.Errorf("delta %v: %v for both, %v for the Gaussian part, %v by GDP", delta, e, alone, account.GDPEpsilon(both.Mu(), delta))
		}
		must.AtMost(t, both.Delta(e), delta*(1+1e-9), "Delta(Epsilon(%v))", delta)
	}
	if e := both.Epsilon(0); !math.IsInf(e, 1) {
		t.Errorf("epsilon %v at delta 0 with a Gaussian release", e)
	}
	if a := compose(account.PureEvent{Epsilon: 1}, account.NonPrivateEvent{}); !math.IsInf(a.Epsilon(0.1), 1) || a.Delta(50) != 1 {
		t.Error("a non-private release beside a pure one has a finite epsilon")
	}
	var a account.GDP
	for _, e := range []account.Event{
		account.Repeat(account.PureEvent{Epsilon: 1}, 0), account.PureEvent{Epsilon: math.NaN()}, account.PureEvent{},
		account.LaplaceEvent{Scale: 1}, account.LaplaceEvent{Sensitivity: 1, Scale: math.Inf(1)},
		account.RandomizedResponseEvent{Buckets: 1, Uniform: 0.5},
	} {
		if err := a.Compose(e); err == nil || a.Mu() != 0 {
			t.Errorf("%#v: error %v, mu %v", e, err, a.Mu())
		}
	}
}
