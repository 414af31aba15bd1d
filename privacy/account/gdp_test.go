package account_test

import (
	"math"
	"math/big"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// The reference is Phi(-p) - exp(epsilon) Phi(-p-mu) in 2400-bit arithmetic from
// the series Phi(x) = 1/2 + phi(x) sum_i x^(2i+1)/(2i+1)!!, which shares nothing
// with the continued fractions of the code.
const refBits = 2400

func phi(t float64) float64 { return math.Erfc(-t/math.Sqrt2) / 2 }

func bigf(v float64) *big.Float { return new(big.Float).SetPrec(refBits).SetFloat64(v) }

func bigNew() *big.Float { return new(big.Float).SetPrec(refBits) }

// bigExp is exp(x): the Taylor series at x 2^-40, squared 40 times.
func bigExp(x *big.Float) *big.Float {
	const k = 40
	r := bigNew().SetMantExp(x, -k)
	sum, term := bigf(1), bigf(1)
	for i := 1; term.Sign() != 0 && term.MantExp(nil) > -refBits-8; i++ {
		term.Quo(term.Mul(term, r), bigf(float64(i)))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigPi is pi by Machin's formula.
func bigPi() *big.Float {
	atanInverse := func(q float64) *big.Float {
		sum, term := bigNew(), bigNew().Quo(bigf(1), bigf(q))
		for i := 0; term.MantExp(nil) > -refBits-8; i++ {
			t := bigNew().Quo(term, bigf(float64(2*i+1)))
			if i%2 == 1 {
				t.Neg(t)
			}
			sum.Add(sum, t)
			term.Quo(term, bigf(q*q))
		}
		return sum
	}
	a := bigNew().Mul(bigf(16), atanInverse(5))
	return a.Sub(a, bigNew().Mul(bigf(4), atanInverse(239)))
}

type reference struct{ twoPi *big.Float }

func newReference() reference { return reference{bigNew().Mul(bigf(2), bigPi())} }

func (r reference) phi(x *big.Float) *big.Float {
	sq := bigNew().Mul(x, x)
	sum, term := bigNew(), bigNew().Set(x)
	for i := 1; term.Sign() != 0 && term.MantExp(nil) > -refBits-8; i++ {
		sum.Add(sum, term)
		term.Quo(term.Mul(term, sq), bigf(float64(2*i+1)))
	}
	density := bigExp(bigNew().Quo(sq, bigf(-2)))
	density.Quo(density, bigNew().Sqrt(r.twoPi))
	return sum.Add(sum.Mul(sum, density), bigf(0.5))
}

// delta is the exact delta(epsilon; mu).
func (r reference) delta(epsilon, mu *big.Float) *big.Float {
	c := bigNew().Quo(epsilon, mu)
	h := bigNew().SetMantExp(mu, -1)
	a := r.phi(bigNew().Sub(h, c))
	b := r.phi(bigNew().Neg(bigNew().Add(c, h)))
	return a.Sub(a, b.Mul(b, bigExp(epsilon)))
}

// relative is got/want - 1.
func relative(got float64, want *big.Float) float64 {
	q := bigNew().Quo(bigf(got), want)
	v, _ := q.Sub(q, bigf(1)).Float64()
	return v
}

// gdpPoints are pairs (p, mu) in every branch of the code and beside its
// thresholds, p = epsilon/mu - mu/2.
func gdpPoints() (points [][2]float64) {
	k := 0
	for _, mu := range []float64{1e-250, 3e-8, 1e-4, 0.03, 0.3, 0.499, 0.5, 0.7, 2, 8, 30} {
		for _, p := range []float64{-15, -3, -0.2, 0, 0.3, 0.97, 1.1, 3, 9, 20, 37} {
			k++
			// Beyond p + mu = 60 the reference runs out of digits.
			if p+mu/2 >= 0 && p+mu < 60 && !(testing.Short() && k%5 != 0) {
				points = append(points, [2]float64{p, mu})
			}
		}
	}
	return points
}

func TestHockeyStickAccuracy(t *testing.T) {
	ref := newReference()
	worst, worstNaive := 0.0, 0.0
	for _, q := range gdpPoints() {
		p, mu := q[0], q[1]
		epsilon := bigNew().Mul(bigf(mu), bigNew().Add(bigf(p), bigf(mu/2)))
		want := ref.delta(epsilon, bigf(mu))
		if want.Cmp(bigf(1e-300)) < 0 {
			continue
		}
		rel := math.Abs(relative(account.HockeyStick(p, mu), want))
		if rel > 1e-13 { // gdpMargin is 1e-12
			t.Errorf("hockeyStick(%v, %v) is off by %.3g relative", p, mu, rel)
		}
		worst = max(worst, rel)
		e, _ := epsilon.Float64()
		if naive := phi(-p) - math.Exp(e)*phi(-p-mu); !math.IsNaN(naive) {
			worstNaive = max(worstNaive, math.Abs(relative(naive, want)))
		}
	}
	t.Logf("largest relative error %.3g; of the formula in plain float64 %.3g", worst, worstNaive)
	must.AtLeast(t, worstNaive, 1e-6, "the formula in plain float64 passes: the points are too easy")
}

// GDPDelta is an upper bound, and as tight as documented.
func TestGDPDeltaIsRoundedUp(t *testing.T) {
	ref := newReference()
	for i, q := range gdpPoints() {
		mu := q[1]
		epsilon := (q[0] + mu/2) * mu
		if i%2 == 1 || mu < 1e-200 {
			continue
		}
		got := account.GDPDelta(epsilon, mu)
		if got == 1e-300 {
			continue
		}
		if rel := relative(got, ref.delta(bigf(epsilon), bigf(mu))); rel < 0 {
			t.Errorf("GDPDelta(%v, %v) = %v is below the real number by %v relative", epsilon, mu, got, -rel)
		}
		more := bigNew().Mul(bigf(mu), bigNew().Add(bigf(1), bigf(1e-15)))
		must.AtMost(t, relative(got, ref.delta(bigf(epsilon), more)), 2e-12, "GDPDelta(%v, %v) = %v is above its documented bound by", epsilon, mu, got)
	}
}

func TestMillsTruncation(t *testing.T) {
	for _, x := range []float64{1, 1.0001, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 14, 20, 25, 30, 37, 50, 100, 1e4, 1e8} {
		product := 1.0
		for j := 0; j <= account.MillsStart(x); j++ {
			product *= 1 - 2*x/(x+math.Sqrt(x*x+4*float64(j+1)))
		}
		must.AtMost(t, product, 0x1p-52, "t = %v: truncation factor", x)
	}
}

func TestMills(t *testing.T) {
	ref := newReference()
	for _, x := range []float64{0, 1e-9, 0.1, 0.5, 0.99999, 1, 1.5, 3, 8, 20, 38} {
		want := bigNew().Sub(bigf(1), ref.phi(bigf(x)))
		want.Mul(want, bigExp(bigf(x*x/2))) // x^2/2 rounds for few of these
		want.Mul(want, bigNew().Sqrt(ref.twoPi))
		must.AtMost(t, math.Abs(relative(account.Mills(x), want)), 0x1p-49+x*x*0x1p-53, "mills(%v) is off by", x)
	}
}

func TestGDPReferenceValues(t *testing.T) {
	for _, r := range []struct{ epsilon, delta, mu float64 }{
		{1, 1. / 64, .577560}, {1, 1. / 512, .419846}, {1, 1e-5, .268051},
		{2, 1e-5, .501552}, {2.5, 1e-5, .611994}, {1, 1e-6, .236704},
	} {
		must.Near(t, account.GDPMu(r.epsilon, r.delta), r.mu, 5.1e-7, "GDPMu(%v, %v)", r.epsilon, r.delta)
		must.Near(t, account.GDPEpsilon(r.mu, r.delta), r.epsilon, 1e-5, "GDPEpsilon(%v, %v)", r.mu, r.delta)
	}
}

var (
	testEpsilons = []float64{0, 1e-6, 1e-3, 0.1, 1, 2.5, 10, 100}
	testDeltas   = []float64{1e-300, 1e-200, 1e-100, 1e-30, 1e-10, 1e-5, 1. / 64, 0.5, 0.9}
)

// GDPMu meets the budget in exact arithmetic, and 1e-9 more would not.
func TestGDPMuIsSafeAndTight(t *testing.T) {
	ref := newReference()
	for i, epsilon := range testEpsilons {
		for j, delta := range testDeltas {
			mu := account.GDPMu(epsilon, delta)
			if safe := account.GDPMuClosedForm(epsilon, delta); !(safe <= mu) {
				t.Errorf("GDPMu(%v, %v) = %v is below the closed form %v", epsilon, delta, mu, safe)
			}
			must.AtMost(t, account.GDPDelta(epsilon, mu), delta, "GDPDelta(%v, GDPMu = %v)", epsilon, mu)
			must.Above(t, account.GDPDelta(epsilon, mu*(1+1e-10)), delta, "GDPDelta(%v, GDPMu (1 + 1e-10) = %v)", epsilon, mu)
			if (i+j)%4 != 0 || testing.Short() && (i+j)%8 != 0 {
				continue
			}
			exact := func(m float64) bool { return ref.delta(bigf(epsilon), bigf(m)).Cmp(bigf(delta)) <= 0 }
			if !exact(mu) {
				t.Errorf("GDPMu(%v, %v) = %v misses the budget", epsilon, delta, mu)
			}
			if exact(mu * (1 + 1e-9)) {
				t.Errorf("GDPMu(%v, %v) = %v is 1e-9 below the exact value", epsilon, delta, mu)
			}
		}
	}
}

func TestGDPMonotoneAndRoundTrips(t *testing.T) {
	for i, epsilon := range testEpsilons {
		for j, delta := range testDeltas {
			mu := account.GDPMu(epsilon, delta)
			if i > 0 && mu < account.GDPMu(testEpsilons[i-1], delta) || j > 0 && mu < account.GDPMu(epsilon, testDeltas[j-1]) {
				t.Errorf("GDPMu falls at (%v, %v)", epsilon, delta)
			}
			back := account.GDPEpsilon(mu, delta)
			// Where delta hardly depends on epsilon (epsilon below mu), only the
			// error relative to mu is small.
			must.Within(t, back, epsilon*(1-1e-9)-1e-11*mu, epsilon*(1+1e-9)+1e-11*mu, "GDPEpsilon(GDPMu(%v, %v))",
				epsilon, delta)
			if got := account.GDPDelta(back, mu); got > delta {
				t.Errorf("GDPDelta(GDPEpsilon(%v, %v) = %v) = %v", mu, delta, back, got)
			}
			if account.GDPEpsilon(mu*1.01, delta) <= back || j > 0 && account.GDPEpsilon(mu, testDeltas[j-1]) < back {
				t.Errorf("GDPEpsilon is not monotone at (%v, %v)", mu, delta)
			}
		}
	}
}

// Arguments at and beyond the end of the range give answers on the safe side.
func TestGDPExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"delta of mu 0", account.GDPDelta(1, 0), 0},
		{"delta of mu +Inf", account.GDPDelta(1, inf), 1},
		{"delta of epsilon +Inf", account.GDPDelta(inf, 3), 0},
		{"delta of both +Inf", account.GDPDelta(inf, inf), 1},
		{"delta of epsilon -1", account.GDPDelta(-1, 1), 1},
		{"delta of NaN", account.GDPDelta(nan, 1), 1},
		{"delta of mu NaN", account.GDPDelta(1, nan), 1},
		{"delta, huge mu", account.GDPDelta(1, 1e200), 1},
		{"delta, tiny mu", account.GDPDelta(1, 1e-310), 1e-300},
		{"delta, all digits of p lost", account.GDPDelta(5e299, 1e150), 1},
		{"mu, delta 0", account.GDPMu(1, 0), 0},
		{"mu, delta 1", account.GDPMu(1, 1), 0},
		{"mu, delta NaN", account.GDPMu(1, nan), 0},
		{"mu, epsilon NaN", account.GDPMu(nan, 0.1), 0},
		{"mu, epsilon +Inf", account.GDPMu(inf, 0.1), 0},
		{"mu, delta below 1e-300", account.GDPMu(1, 1e-310), account.GDPMuClosedForm(1, 1e-310)},
		{"epsilon, mu 0", account.GDPEpsilon(0, 0), 0},
		{"epsilon, delta 0", account.GDPEpsilon(1, 0), inf},
		{"epsilon, delta 1", account.GDPEpsilon(1, 1), 0},
		{"epsilon, delta NaN", account.GDPEpsilon(0, nan), inf},
		{"epsilon, mu NaN", account.GDPEpsilon(nan, 0.1), inf},
		{"epsilon, mu +Inf", account.GDPEpsilon(inf, 0.1), inf},
		{"epsilon, delta above delta(0)", account.GDPEpsilon(0.1, 0.05), 0},
	} {
		must.Equal(t, c.got, c.want, "%s", c.name)
	}
	for _, epsilon := range []float64{1e-320, 1e-100, 1e10, 1e300} {
		for _, delta := range []float64{5e-324, 1e-290, 1e-5, 1 - 0x1p-53} {
			mu := account.GDPMu(epsilon, delta)
			if e := account.GDPEpsilon(mu, delta); math.IsNaN(mu) || mu <= 0 && delta > 1e-300 || math.IsNaN(e) {
				t.Errorf("epsilon %v, delta %v: mu %v, back to %v", epsilon, delta, mu, e)
			}
		}
	}
}

func BenchmarkGDPMu(b *testing.B) {
	for b.Loop() {
		account.GDPMu(1, 1e-5)
	}
}
