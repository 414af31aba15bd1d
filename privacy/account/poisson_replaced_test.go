package account_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// replacedEvent is a release for an owner of k records at noise of scale 1, whose query a replaced record moves by at most r.
func replacedEvent(k int, m, r, rate float64) account.PoissonEvent {
	e := groupEvent(k, m, rate, account.ReplaceOne)
	e.Replaced = r
	return e
}

// centres is the law of the centre where the batch without the record is at 0 and the batch with it at c.
func centres(rate, c float64) mixture { return coins(rate, c) }

// No two versions of a record cost more than the event says, wherever on a line the batch with each of them lies: within m of the
// batch without it and within r of each other. The worst case is reached, and a smaller move, a smaller distance or a smaller rate
// are refuted.
func TestReplacedMoveDominates(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	tries := 300
	if testing.Short() {
		tries = 40
	}
	for _, c := range []struct{ m, r, rate float64 }{{1, 1.2, 0.1}, {0.7, 1.3, 0.4}, {2, 2, 0.05}, {1.5, 3, 0.3}, {0.9, 1, 0.97}, {1, 1.5, 1}} {
		claim := replacedEvent(1, c.m, c.r, c.rate)
		for _, epsilon := range []float64{0, 0.1, 0.8, 2.5} {
			bound := account.SingleDelta(claim, epsilon, false)
			worst := hockeyStick(account.GaussianLaw, centres(c.rate, c.m), centres(c.rate, c.m-c.r), epsilon)
			must.Near(t, worst, bound, integrationError+1e-9, "%+v, epsilon %v: the worst case", c, epsilon)
			for range tries / 10 {
				b := c.m * (2*rng.Float64() - 1)
				other := b + c.r*(2*rng.Float64()-1)
				if math.Abs(other) > c.m {
					continue
				}
				if got := hockeyStick(account.GaussianLaw, centres(c.rate, b), centres(c.rate, other), epsilon); got > bound+integrationError {
					t.Fatalf("%+v, epsilon %v: versions at %v and %v have %v, claimed %v", c, epsilon, b, other, got, bound)
				}
			}
			for name, less := range map[string]account.PoissonEvent{
				"a smaller move of a replaced record": replacedEvent(1, c.m, max(c.m, 0.95*c.r), c.rate),
				"a smaller rate":                      replacedEvent(1, c.m, c.r, 0.9*c.rate),
				"the pair of 6.9 for a record added":  replacedEvent(1, c.m, c.m, c.rate),
			} {
				if less.Replaced == c.r && less.Rate == c.rate {
					continue
				}
				if got := account.SingleDelta(less, epsilon, false); got > 0.999*worst && worst > 1e-6 {
					t.Errorf("%+v, epsilon %v, %s: not refuted, %v of %v", c, epsilon, name, got, worst)
				}
			}
		}
	}
}

// In the plane, too.
func TestReplacedMoveInThePlane(t *testing.T) {
	const m, r, rate = 1, 1.3, 0.3
	rng := rand.New(rand.NewPCG(5, 6))
	tries := 30
	if testing.Short() {
		tries = 6
	}
	claim := replacedEvent(1, m, r, rate)
	for _, epsilon := range []float64{0.05, 0.9} {
		bound := account.SingleDelta(claim, epsilon, false)
		for range tries {
			at, length := 2*math.Pi*rng.Float64(), m*math.Min(1, 1.5*rng.Float64())
			turn, second := 2*math.Pi*rng.Float64(), m*math.Min(1, 1.5*rng.Float64())
			u, v := [2]float64{length * math.Cos(at), length * math.Sin(at)}, [2]float64{second * math.Cos(turn), second * math.Sin(turn)}
			if math.Hypot(u[0]-v[0], u[1]-v[1]) > r {
				continue
			}
			if got := planar(rate, epsilon, [][2]float64{u}, [][2]float64{v}); got > bound+2e-4 {
				t.Errorf("epsilon %v: versions at %v and %v have %v, claimed %v", epsilon, u, v, got, bound)
			}
		}
	}
}

// For two records of an owner the plain pair, that of one record which moves by twice as much, is false: terms of length 0.6 in
// opposite directions are within 1 of the batch without them and 1.2 of each other, and exceed it. What the event says holds.
func TestPlainPairOfAGroupIsFalse(t *testing.T) {
	const m, r, rate = 1, 1.2, 0.1
	got := hockeyStick(account.GaussianLaw, coins(rate, r/2, r/2), coins(rate, -r/2, -r/2), 0)
	plain := account.SingleDelta(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 2 * r, Sigma: 1}, Batch: 100, Records: 1000}, 0, false)
	if math.Abs(got-0.0890) > 1e-4 || math.Abs(plain-0.0770) > 1e-4 {
		t.Errorf("two records: %v, the plain pair says %v, want .0890 and .0770", got, plain)
	}
	if claim := account.SingleDelta(replacedEvent(2, m, r, rate), 0, false); claim < got {
		t.Errorf("two records: %v, claimed %v", got, claim)
	}
}

// At its ends the event is one that was there before: two sensitivities are the mixture of both sides, one is a batch without
// replacement, and at rate 1 it is one Gaussian release. Between them epsilon grows, and many releases keep the order.
func TestReplacedMoveLimits(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	const m, rate, count = 0.6, 0.125, 40
	epsilonOf := func(e account.Event) float64 { return pldOf(t, account.Repeat(e, count)).Epsilon(1e-6) }
	close := func(what string, got, want float64) {
		t.Helper()
		must.Near(t, got/want, 1, 1e-4, "%s: epsilon %v, want %v", what, got, want)
	}
	close("two sensitivities", epsilonOf(replacedEvent(1, m, 2*m, rate)), epsilonOf(groupEvent(1, m, rate, account.ReplaceOne)))
	close("one sensitivity", epsilonOf(replacedEvent(1, m, m, rate)), epsilonOf(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: m, Sigma: 1}, Batch: 1, Records: 8}))
	close("rate 1", epsilonOf(replacedEvent(1, m, 1.4*m, 1)), epsilonOf(account.GaussianEvent{Sensitivity: 1.4 * m, Sigma: 1}))
	close("rate 1, three records", epsilonOf(replacedEvent(3, m, 1.4*m, 1)), epsilonOf(account.GaussianEvent{Sensitivity: 3 * 1.4 * m, Sigma: 1}))
	close("two records", epsilonOf(replacedEvent(2, m, 1.4*m, rate)), epsilonOf(groupEvent(2, m, rate, account.ReplaceOne)))
	last := 0.0
	for _, r := range []float64{1, 1.01, 1.3, 1.7, 1.99, 2} {
		epsilon := epsilonOf(replacedEvent(1, m, r*m, rate))
		if epsilon <= last {
			t.Errorf("a move of %v: epsilon %v, not above %v", r, epsilon, last)
		}
		last = epsilon
	}
	for name, change := range map[string]func(*account.PoissonEvent){
		"below the sensitivity": func(e *account.PoissonEvent) { e.Replaced = 0.99 * m },
		"above two of them":     func(e *account.PoissonEvent) { e.Replaced = 2.01 * m },
		"NaN":                   func(e *account.PoissonEvent) { e.Replaced = math.NaN() },
		"add/remove":            func(e *account.PoissonEvent) { e.Relation = account.AddRemove },
		"Laplace":               func(e *account.PoissonEvent) { e.Event = account.LaplaceEvent{Sensitivity: m, Scale: 1} },
	} {
		e := replacedEvent(1, m, 1.5*m, rate)
		if change(&e); new(account.PLD).Compose(e) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Ledgers keep the move of a replaced record, and what older programs wrote has the same bytes.
func TestReplacedMoveIsRecorded(t *testing.T) {
	for e, want := range map[account.PoissonEvent]bool{replacedEvent(1, 0.5, 0.75, 0.25): true, groupEvent(2, 0.5, 0.25, account.ReplaceOne): false} {
		text := must.Get(account.Encode(e))(t)
		must.Equal[account.Event](t, account.Decode(text), e, "%s is read as, want %v", text, e)
		if got := string(text) != `{"kind":"poisson","sensitivity":0.5,"scale":1,"law":"gaussian","rate":0.25,"group":2,"count":1}`; got != want {
			t.Errorf("%v is recorded as %s", e, text)
		}
	}
}
