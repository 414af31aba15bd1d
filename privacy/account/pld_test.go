package account_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
	"dyad/privacy/privtest"
)

// unmerged is a PLD accountant that sees every Gaussian release as one on Poisson
// batches of rate 1, which it does not merge: all of it goes through the grid and
// the transforms.
type unmerged struct{ account.PLD }

func (u *unmerged) Compose(e account.Event) error { return u.PLD.Compose(rateOne(e)) }

func rateOne(e account.Event) account.Event {
	switch e := e.(type) {
	case account.GaussianEvent:
		return account.PoissonEvent{Event: e, Rate: 1, Relation: account.AddRemove}
	case account.RepeatedEvent:
		return account.Repeat(rateOne(e.Event), e.Count)
	case account.ComposedEvent:
		out := account.ComposedEvent{}
		for _, p := range e.Events {
			out.Events = append(out.Events, rateOne(p))
		}
		return out
	}
	return e
}

func TestAccountantsPassTheSuite(t *testing.T) {
	for name, fresh := range map[string]func() account.Accountant{
		"PLD":          func() account.Accountant { return new(account.PLD) },
		"unmerged PLD": func() account.Accountant { return new(unmerged) },
		"RDP":          func() account.Accountant { return new(account.RDP) },
		"ZCDP":         func() account.Accountant { return new(account.ZCDP) },
	} {
		if name == "unmerged PLD" && !sizes.Full() {
			continue // a second of transforms
		}
		must.CheckDo(t, privtest.CheckAccountant(fresh), name)
	}
}

// checkGaussian compares compositions of Gaussian releases with the exact curve:
// never below, and at most 1 % above (tight) in epsilon and 5 % in delta.
func checkGaussian(fresh func() account.Accountant, tight bool) error {
	for _, c := range []struct {
		sigma float64
		count int
	}{{1, 2}, {0.3, 3}, {5, 10}, {10, 100}, {40, 1000}, {300, 20_000}} {
		a := fresh()
		if err := a.Compose(account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: c.sigma}, c.count)); err != nil {
			return err
		}
		mu := math.Sqrt(float64(c.count)) / c.sigma
		for _, delta := range []float64{1e-2, 1e-5, 1e-10, 1e-25} {
			got, want := a.Epsilon(delta), account.GDPEpsilon(mu*(1-1e-14), delta)
			if got < want*(1-1e-12) {
				return fmt.Errorf("%+v, delta %v: epsilon %v is below the exact %v", c, delta, got, want)
			}
			if tight && got > want*1.01 {
				return fmt.Errorf("%+v, delta %v: epsilon %v is more than 1 %% above the exact %v", c, delta, got, want)
			}
			gotDelta, wantDelta := a.Delta(want), account.GDPDelta(want, mu*(1-1e-14))
			if gotDelta < wantDelta*(1-1e-11) {
				return fmt.Errorf("%+v: delta %v at epsilon %v is below the exact %v", c, gotDelta, want, wantDelta)
			}
			if tight && gotDelta > wantDelta*1.05 {
				return fmt.Errorf("%+v: delta %v at epsilon %v is more than 5 %% above the exact %v", c, gotDelta, want, wantDelta)
			}
		}
	}
	return nil
}

func TestPLDGaussianIsExactFromAbove(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	must.CheckDo(t, checkGaussian(func() account.Accountant { return new(unmerged) }, true))
	// A coarse grid is loose, not wrong.
	for _, h := range []float64{0.05, 0.5, 3} {
		must.CheckDo(t, checkGaussian(func() account.Accountant { return &unmerged{account.PLD{Interval: h}} }, false), fmt.Sprintf("interval %v", h))
	}
}

// optimist understates by a factor.
type optimist struct {
	unmerged
	factor float64
}

func (o *optimist) Epsilon(delta float64) float64 { return o.unmerged.Epsilon(delta) * o.factor }

func TestPLDGaussianCheckRejects(t *testing.T) {
	for name, fresh := range map[string]func() account.Accountant{
		"0.1 % too small":  func() account.Accountant { return &optimist{factor: 0.999} },
		"1.5 % too large":  func() account.Accountant { return &optimist{factor: 1.015} },
		"grid too coarse":  func() account.Accountant { return &unmerged{account.PLD{Interval: 2}} },
		"renyi divergence": func() account.Accountant { return new(account.RDP) },
	} {
		if checkGaussian(fresh, true) == nil {
			t.Errorf("%s: not rejected", name)
		}
	}
}

// lowerBound is a lower bound of the delta of composed losses: every loss is
// rounded down to a node, and the sums are convolved directly. tail(x) is the
// probability under P of a loss >= x.
func lowerBound(tail func(float64) float64, largest float64, cells, count int, epsilon float64) float64 {
	h := largest / float64(cells)
	one := make([]float64, 2*cells+1) // losses -largest..largest
	for i := range one {
		x := float64(i-cells) * h
		one[i] = tail(x)
		if i < 2*cells {
			one[i] -= tail(x + h)
		}
	}
	sum := one
	for range count - 1 {
		next := make([]float64, len(sum)+len(one)-1)
		for i, v := range sum {
			for j, w := range one {
				next[i+j] += v * w
			}
		}
		sum = next
	}
	delta := 0.0
	for i, p := range sum {
		if x := float64(i-count*cells) * h; x > epsilon {
			delta += p * -math.Expm1(epsilon-x)
		}
	}
	return delta
}

// Laplace losses: P(loss >= x) = 1 - exp((x-m)/2)/2 on [-m, m].
func TestPLDLaplace(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, c := range []struct {
		m     float64
		count int
	}{{0.5, 2}, {1, 3}, {2, 3}} {
		var a account.PLD
		must.Do(t, a.Compose(account.Repeat(account.LaplaceEvent{Sensitivity: c.m, Scale: 1}, c.count)))
		tail := func(x float64) float64 {
			switch {
			case x > c.m*(1+1e-12):
				return 0
			case x <= -c.m*(1-1e-12):
				return 1
			}
			return 1 - math.Exp((x-c.m)/2)/2
		}
		for _, share := range []float64{0, 0.2, 0.5, 0.9, 0.97} {
			epsilon := share * c.m * float64(c.count)
			low, got := lowerBound(tail, c.m, 1000, c.count, epsilon), a.Delta(epsilon)
			// Rounding down by up to h loses at most a factor near exp(h) - 1 of what is left.
			must.Within(t, got, low, low*1.01+2e-3*c.m*float64(c.count), "%+v, epsilon %v: delta", c, epsilon)
		}
		if got, want := a.Epsilon(0), c.m*float64(c.count); got < want || got > want*(1+1e-14) {
			t.Errorf("%+v: pure epsilon %v, want %v", c, got, want)
		}
	}
}

// Compositions of randomised response have exact binomial sums.
func TestPLDPure(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, c := range []struct {
		epsilon float64
		count   int
	}{{0.1, 30}, {1, 7}, {0.01, 1000}} {
		var a account.PLD
		must.Do(t, a.Compose(account.Repeat(account.PureEvent{Epsilon: c.epsilon}, c.count)))
		p := 1 / (1 + math.Exp(-c.epsilon))
		for _, share := range []float64{0, 0.1, 0.3, 0.6} {
			epsilon, want := share*c.epsilon*float64(c.count), 0.0
			for k := range c.count + 1 { // k losses of +epsilon
				l1, _ := math.Lgamma(float64(c.count) + 1)
				l2, _ := math.Lgamma(float64(k) + 1)
				l3, _ := math.Lgamma(float64(c.count-k) + 1)
				if loss := c.epsilon * float64(2*k-c.count); loss > epsilon {
					want += math.Exp(l1-l2-l3+float64(k)*math.Log(p)+float64(c.count-k)*math.Log1p(-p)) * -math.Expm1(epsilon-loss)
				}
			}
			must.Within(t, a.Delta(epsilon), want*(1-1e-9), want*1.01+1e-15, "%+v, epsilon %v: delta, exact %v", c,
				epsilon, want)
		}
	}
}

// Different laws together: a Gaussian part that is exact for two thirds, compared
// with all of it merged; and K-norm noise with Laplace noise of the same epsilon.
func TestPLDMixtures(t *testing.T) {
	var mixed, exact account.PLD
	gaussian := account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 12}, 40)
	rest := account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 20}, 50)
	asReplaced := account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 20}, Batch: 7, Records: 7}, 50)
	must.Do(t, errors.Join(mixed.Compose(gaussian), mixed.Compose(asReplaced), exact.Compose(gaussian), exact.Compose(rest)))
	for _, delta := range []float64{1e-3, 1e-6, 1e-12} {
		if got, want := mixed.Epsilon(delta), exact.Epsilon(delta); got < want*(1-1e-12) || got > want*1.01 {
			t.Errorf("delta %v: epsilon %v, exact %v", delta, got, want)
		}
	}
	// All kinds together: more than the pure part alone, less than the moments say
	// and less than the Gaussian part with the pure epsilons added.
	pure := []account.Event{
		account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: 5}, 10), account.Repeat(account.PureEvent{Epsilon: 0.3}, 2),
		account.Repeat(account.RandomizedResponseEvent{Buckets: 5, Uniform: 0.5}, 2),
	}
	all := account.ComposedEvent{Events: append(pure, gaussian)}
	epsilon := func(a account.Accountant, e account.Event) float64 {
		must.Do(t, a.Compose(e))
		return a.Epsilon(1e-6)
	}
	got := epsilon(new(account.PLD), all)
	low, moments := epsilon(new(account.PLD), account.ComposedEvent{Events: pure}), epsilon(new(account.RDP), all)
	basic := 10*0.2 + 2*0.3 + 2*math.Log(6) + epsilon(new(account.GDP), gaussian)
	if !(got > low && got < moments && got < basic) {
		t.Errorf("epsilon %v: pure part %v, moments %v, basic composition %v", got, low, moments, basic)
	}
}

// Releases beyond the grid promise nothing, instead of something wrong.
func TestPLDExtremes(t *testing.T) {
	for _, e := range []account.Event{
		account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1e4, Sigma: 1}, Rate: 0.5, Relation: account.AddRemove},
		account.Repeat(account.PoissonEvent{Event: account.LaplaceEvent{Sensitivity: 1e6, Scale: 1}, Rate: 0.5, Relation: account.ReplaceOne}, 2),
		account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1e300, Sigma: 1e-300}, Rate: 1e-300, Relation: account.AddRemove},
	} {
		var a account.PLD
		if err := a.Compose(e); err != nil || !(a.Epsilon(1e-6) > 100) || a.Delta(1) < 1e-3 {
			t.Errorf("%v: epsilon %v, delta %v, error %v", e, a.Epsilon(1e-6), a.Delta(1), err)
		}
	}
	var a account.PLD
	e := account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.5, Relation: account.AddRemove}, math.MaxInt)
	if err := errors.Join(a.Compose(e), a.Compose(e)); err != nil || !math.IsInf(a.Epsilon(1e-6), 1) {
		t.Errorf("an overflowing count: epsilon %v, error %v", a.Epsilon(1e-6), err)
	}
	tiny := account.PLD{}
	must.Do(t, tiny.Compose(account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1e6}, Rate: 1e-6, Relation: account.AddRemove}, 2)))
	if eps := tiny.Epsilon(1e-5); eps > 1e-3 || math.IsNaN(eps) {
		t.Errorf("next to no loss costs epsilon %v", eps)
	}
	// Rare huge losses: one direction ends far below epsilon, the other needs a
	// wide window. The moments are a bound, so the answer must be below them.
	rare := account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 0.1}, Rate: 0.01, Relation: account.AddRemove}, 10)
	var pld account.PLD
	var rdp account.RDP
	must.Do(t, errors.Join(pld.Compose(rare), rdp.Compose(rare)))
	for _, delta := range []float64{1e-5, 1e-10} {
		if p, r := pld.Epsilon(delta), rdp.Epsilon(delta); !(p < r && p > 0.7*r) || pld.Delta(p) > delta*(1+1e-9) {
			t.Errorf("rare losses, delta %v: PLD %v, RDP %v, delta again %v", delta, p, r, pld.Delta(p))
		}
	}
	must.ErrDo(t, (&account.PLD{Interval: -1}).Compose(account.PublicEvent{}), "a negative interval is accepted")
}

func BenchmarkPLD(b *testing.B) {
	for name, e := range map[string]account.Event{
		"gaussian/count=1000":        rateOne(account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 40}, 1000)),
		"poisson/q=0.01/count=10000": account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.01, Relation: account.AddRemove}, 10_000),
		"subset/q=0.05/count=1000":   account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 2}, Batch: 50, Records: 1000}, 1000),
		"laplace/count=1000":         account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: 40}, 1000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var a account.PLD
				if err := a.Compose(e); err != nil || !(a.Epsilon(1e-6) > 0) {
					b.Fatal(err)
				}
			}
		})
	}
}
