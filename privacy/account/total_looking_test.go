package account

import (
	"fmt"
	"math"
	"os"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// The total of budgets that were fixed beforehand is the smallest of all accounts that know the events, for mixtures as
// well. GDP with pure sums counted a run of (1, 1e-5) and ten pure ones of 0.1 as 1.897.
func TestPlannedIsTheSmallestAccount(t *testing.T) {
	gauss := func(mu float64) Event { return GaussianEvent{Sensitivity: mu, Sigma: 1} }
	for _, events := range [][]Event{
		{gauss(GDPMu(1, 1e-5)), Repeat(PureEvent{Epsilon: 0.1}, 10)},
		{gauss(0.338), PureEvent{Epsilon: 0.025}, PureEvent{Epsilon: 0.075}, PureEvent{Epsilon: 0.4}},
		{gauss(0.3), Repeat(LaplaceEvent{Sensitivity: 1, Scale: 4}, 2)},
		{gauss(0.3), RandomizedResponseEvent{Buckets: 2, Uniform: 0.6}},
		{Repeat(PureEvent{Epsilon: 0.1}, 100)},
		{gauss(0.5), gauss(0.7)},
	} {
		var total Total
		others := map[string]Accountant{"GDP": &GDP{}, "PLD": &PLD{}, "RDP": &RDP{}, "zCDP": &ZCDP{}}
		for _, e := range events {
			must.Do(t, total.Compose(e))
			for name, a := range others {
				must.Do(t, a.Compose(e), name)
			}
		}
		for _, delta := range sizes.Of([]float64{0, 1e-5}, []float64{0, 1e-9, 1e-5, 1e-2}) {
			for name, a := range others {
				if got, want := total.Planned(delta), a.Epsilon(delta); got > want*(1+1e-9) {
					t.Errorf("%v at %v: total %v, %s %v", events, delta, got, name, want)
				}
			}
			if looked := total.Odometer(delta); looked < total.Planned(delta) || looked < total.Filter(delta) && total.gdp.pure.value() == 0 {
				t.Errorf("%v at %v: the odometer reads %v, below %v or %v", events, delta, looked, total.Planned(delta), total.Filter(delta))
			}
		}
	}
	var total Total
	_ = total.Compose(gauss(GDPMu(1, 1e-5)))
	_ = total.Compose(Repeat(PureEvent{Epsilon: 0.1}, 10))
	must.Within(t, total.Planned(1e-5), 1.547, 1.549, "(1, 1e-5) and ten pure 0.1")
}

// Exact profiles are no filter. After a randomised response each of two continuations keeps the exact total at delta:
// one more response, or Gaussian noise. Which of them is made is chosen by the first answer, and the whole then has
// more than delta above epsilon. Filter and Odometer refuse it.
func TestProfilesAreNoFilter(t *testing.T) {
	const delta, epsilon, first = 1e-5, 0.05, 0.0005
	total := func(second Event) *Total {
		a := new(Total)
		for _, e := range []Event{PureEvent{Epsilon: first}, second} {
			must.Do(t, a.Compose(e))
		}
		return a
	}
	// The largest continuations of which the exact total is at most delta above epsilon.
	search := func(keeps func(size float64) bool) (size float64) {
		for step := 0.5; step > 1e-9; step /= 2 {
			if keeps(size + step) {
				size += step
			}
		}
		return size
	}
	response := func(size float64) Event { return PureEvent{Epsilon: size} }
	gaussian := func(mu float64) Event { return GaussianEvent{Sensitivity: mu, Sigma: 1} }
	p := 1 / (1 + math.Exp(-first))
	yes := func(second, e float64) float64 { return max(0, -math.Expm1(e-second)/(1+math.Exp(-second))) } // profile for e >= 0
	second := search(func(s float64) bool { return p*yes(s, epsilon-first)+(1-p)*yes(s, epsilon+first) <= delta })
	mu := search(func(mu float64) bool {
		return mu == 0 || p*GDPDelta(epsilon-first, mu)+(1-p)*GDPDelta(epsilon+first, mu) <= delta
	})
	must.Within(t, (p*yes(second, epsilon-first)+(1-p)*GDPDelta(epsilon+first, mu))/delta, 1.4, 1.5,
		"chosen by looking: ratio to the delta")
	for name, a := range map[string]*Total{"response": total(response(second)), "Gaussian": total(gaussian(mu))} {
		must.AtMost(t, a.Planned(delta), epsilon*(1+1e-3), "%s: the exact total is", name)
	}
	// What a filter with the cap (epsilon, delta) admits does not exceed it, whatever is chosen.
	kept := func(a *Total) float64 { return min(a.Filter(delta), a.Odometer(delta)) }
	if a, b := kept(total(response(second))), kept(total(gaussian(mu))); a <= epsilon && b <= epsilon {
		t.Errorf("filters admit both continuations: %v and %v", a, b)
	}
}

// The committed table has the totals of today; its column "before" is Epsilon, which the ledger took.
func TestTableOfTotals(t *testing.T) {
	gauss := func(mu float64) Event { return GaussianEvent{Sensitivity: mu, Sigma: 1} }
	pure := func(epsilon float64) Event { return PureEvent{Epsilon: epsilon} }
	text := "what,delta,before,fixed_beforehand,chosen_by_looking,filter\n"
	for _, row := range []struct {
		what   string
		events []Event
	}{
		{"(1 1e-5) and ten pure 0.1", []Event{gauss(GDPMu(1, 1e-5)), Repeat(pure(0.1), 10)}},
		{"Gaussian mu 0.338 and pure 0.025 0.075 0.4", []Event{gauss(0.338), pure(0.025), pure(0.075), pure(0.4)}},
		{"Gaussian mu 0.3 and two Laplace 0.25", []Event{gauss(0.3), Repeat(LaplaceEvent{Sensitivity: 1, Scale: 4}, 2)}},
		{"a hundred pure 0.1", []Event{Repeat(pure(0.1), 100)}},
		{"Gaussian mu 0.5 and 0.7", []Event{gauss(0.5), gauss(0.7)}},
	} {
		var a Total
		must.Do(t, a.Compose(ComposedEvent{Events: row.events}))
		text += fmt.Sprintf("%s,1e-05,%.6g,%.6g,%.6g,%.6g\n", row.what, a.Epsilon(1e-5), a.Planned(1e-5), a.Odometer(1e-5), a.Filter(1e-5))
	}
	if committed, err := os.ReadFile("../../bench/results/totals.csv"); err != nil || string(committed) != text {
		t.Errorf("bench/results/totals.csv (%v) is not\n%s", err, text)
	}
}
