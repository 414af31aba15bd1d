package account_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
)

// groupEvent is a release for an owner of k records at noise of scale 1.
func groupEvent(k int, m, rate float64, relation account.Relation) account.PoissonEvent {
	return account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: m, Sigma: 1}, Rate: rate, Relation: relation, Group: k}
}

func pldOf(t testing.TB, e account.Event) *account.PLD {
	t.Helper()
	a := new(account.PLD)
	must.Do(t, a.Compose(e))
	return a
}

// coins is the law of the centre of k terms of the given lengths, each with probability
// rate: all 2^k outcomes, no binomial.
func coins(rate float64, terms ...float64) (law mixture) {
	for set := range 1 << len(terms) {
		w, centre := 1.0, 0.0
		for i, u := range terms {
			if set>>i&1 == 1 {
				w, centre = w*rate, centre+u
			} else {
				w *= 1 - rate
			}
		}
		law = append(law, struct{ weight, centre float64 }{w, centre})
	}
	return law
}

// The closed divergence of a group against integration, in every direction.
func TestGroupSingleDelta(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for i, c := range []struct {
		k       int
		m, rate float64
	}{{2, 0.6, 0.3}, {3, 1.1, 0.1}, {5, 0.4, 0.5}, {8, 0.7, 0.9}, {4, 0.02, 0.25}} {
		if !sizes.Full() && i%2 == 1 {
			continue // integrals take their time
		}
		terms := make([]float64, c.k)
		for i := range terms {
			terms[i] = c.m
		}
		mix, none := coins(c.rate, terms...), coins(c.rate)
		for i := range terms {
			terms[i] = -c.m
		}
		opposite := coins(c.rate, terms...)
		both, one := groupEvent(c.k, c.m, c.rate, account.ReplaceOne), groupEvent(c.k, c.m, c.rate, account.AddRemove)
		for _, epsilon := range sizes.Of([]float64{0.03, 1.5}, []float64{0, 0.03, 0.4, 1.5, 4}) {
			for name, v := range map[string][2]float64{
				"removed":  {account.SingleDelta(one, epsilon, false), hockeyStick(account.GaussianLaw, mix, none, epsilon)},
				"added":    {account.SingleDelta(one, epsilon, true), hockeyStick(account.GaussianLaw, none, mix, epsilon)},
				"replaced": {account.SingleDelta(both, epsilon, false), hockeyStick(account.GaussianLaw, mix, opposite, epsilon)},
				"reversed": {account.SingleDelta(both, epsilon, true), hockeyStick(account.GaussianLaw, opposite, mix, epsilon)},
			} {
				must.Near(t, v[0], v[1], integrationError, "%s, %+v, epsilon %v", name, c, epsilon)
			}
		}
	}
}

// planar is the hockey-stick divergence of two mixtures of centres in the plane, each
// centre with the probability of its subset, by the midpoint rule.
func planar(rate, epsilon float64, u, v [][2]float64) (sum float64) {
	const h, reach = 0.08, 8.0
	type part struct{ w, x, y float64 }
	parts := func(terms [][2]float64) (out []part) {
		for set := range 1 << len(terms) {
			p := part{w: 1}
			for i, t := range terms {
				if set>>i&1 == 1 {
					p = part{p.w * rate, p.x + t[0], p.y + t[1]}
				} else {
					p.w *= 1 - rate
				}
			}
			out = append(out, p)
		}
		return out
	}
	at := func(law []part, x, y float64) (f float64) {
		for _, p := range law {
			f += p.w * math.Exp(-((x-p.x)*(x-p.x)+(y-p.y)*(y-p.y))/2)
		}
		return f / (2 * math.Pi)
	}
	p, q := parts(u), parts(v)
	for x := -reach; x < reach; x += h {
		for y := -reach; y < reach; y += h {
			sum += h * h * max(0, at(p, x+h/2, y+h/2)-math.Exp(epsilon)*at(q, x+h/2, y+h/2))
		}
	}
	return sum
}

// No contributions of a group in the plane, in whatever directions and of whatever
// lengths up to the sensitivity, cost more than the event says, for both neighbours and
// either order. The controls: a smaller group, rate or distance is exceeded.
func TestGroupDominates(t *testing.T) {
	const k, m, rate = 3, 0.9, 0.3
	tries := 12
	if testing.Short() {
		tries = 6
	}
	r := rand.New(rand.NewPCG(5, 9))
	claim := groupEvent(k, m, rate, account.ReplaceOne)
	for _, epsilon := range []float64{0.05, 0.7} {
		worst := 0.0
		for i := range tries {
			var u, v [][2]float64
			for range k {
				a, b := 2*math.Pi*r.Float64(), 2*math.Pi*r.Float64()
				lu, lv := m*math.Min(1, 1.5*r.Float64()), m*math.Min(1, 1.5*r.Float64())
				switch i { // the worst case, and terms that turn around one by one
				case 0:
					a, b, lu, lv = 0, math.Pi, m, m
				case 1:
					a, b, lu, lv = 0, math.Pi*float64(len(u)%2), m, m
				case 2:
					a, b, lu, lv = 0, math.Pi/2, m, m
				}
				u = append(u, [2]float64{lu * math.Cos(a), lu * math.Sin(a)})
				v = append(v, [2]float64{lv * math.Cos(b), lv * math.Sin(b)})
			}
			worst = max(worst, planar(rate, epsilon, u, v), planar(rate, epsilon, v, u))
		}
		bound := account.SingleDelta(claim, epsilon, false)
		must.Within(t, worst, bound-2e-4, bound+2e-4, "epsilon %v: worst, claimed %v", epsilon, bound)
		for name, defect := range map[string]account.PoissonEvent{
			"one record of the group": groupEvent(1, m, rate, account.ReplaceOne),
			"two of three":            groupEvent(2, m, rate, account.ReplaceOne),
			"a smaller rate":          groupEvent(k, m, 0.29, account.ReplaceOne),
			"as if removed":           groupEvent(k, m, rate, account.AddRemove),
		} {
			if less := max(account.SingleDelta(defect, epsilon, false), account.SingleDelta(defect, epsilon, true)); less >= worst-2e-4 {
				t.Errorf("epsilon %v, %s: not refuted, %v >= %v", epsilon, name, less, worst)
			}
		}
	}
}

// groupLaw is the pair of ReplaceOne, oppositeLaw false, or of records removed, for
// brute force.
func groupLaw(k int, q, m float64, replaced bool) pairLaw {
	weight := func(j int) float64 {
		return binomial(k, j) * math.Pow(q, float64(j)) * math.Pow(1-q, float64(k-j))
	}
	sumOf := func(f func(j int) float64) (s float64) {
		for j := range k + 1 {
			s += weight(j) * f(j)
		}
		return s
	}
	mix := func(x float64) float64 { return sumOf(func(j int) float64 { return density(x - float64(j)*m) }) }
	tail := func(x float64) float64 { return sumOf(func(j int) float64 { return normalTail(x - float64(j)*m) }) }
	other := func(x float64) float64 { return density(x) }
	otherTail := normalTail
	if replaced {
		other = func(x float64) float64 { return mix(-x) }
		otherTail = func(x float64) float64 { return sumOf(func(j int) float64 { return normalTail(x + float64(j)*m) }) }
	}
	far := float64(k) * m
	loss := func(x float64) float64 { return math.Log(mix(x) / other(x)) }
	return pairLaw{
		loss: loss, p: mix, lo: -11 - far, hi: far + 11,
		one: func(epsilon float64) float64 {
			lo, hi := -14-far, 14+far
			if loss(lo) > epsilon {
				return 1 - math.Exp(epsilon)
			}
			for range 60 {
				if mid := (lo + hi) / 2; loss(mid) > epsilon {
					hi = mid
				} else {
					lo = mid
				}
			}
			return tail(hi) - math.Exp(epsilon)*otherTail(hi)
		},
	}
}

// One and two releases against brute force.
func TestGroupBySecondPath(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, c := range []struct {
		k    int
		q, m float64
	}{{2, 0.1, 0.8}, {5, 0.05, 0.5}, {8, 0.3, 0.15}, {3, 0.02, 2}} {
		for _, replaced := range []bool{true, false} {
			relation := account.AddRemove
			if replaced {
				relation = account.ReplaceOne
			}
			law := groupLaw(c.k, c.q, c.m, replaced)
			for _, count := range []int{1, 2} {
				a := pldOf(t, account.Repeat(groupEvent(c.k, c.m, c.q, relation), count))
				less := pldOf(t, account.Repeat(groupEvent(c.k-1, c.m, c.q, account.ReplaceOne), count))
				for _, epsilon := range sizes.Of([]float64{0.2, 2}, []float64{0, 0.2, 0.8, 2}) {
					exact, points, short := 0.0, 0, 1e-6
					if count == 2 {
						points, short = 400, 5e-5
					}
					if exact = law.brute(count, points, epsilon); exact < 1e-9 {
						continue
					}
					got := a.Delta(epsilon)
					// Under add/remove the other direction may be larger.
					if got < exact*(1-short) || replaced && got > exact*1.005 {
						t.Errorf("%+v, T %d, %s, epsilon %v: PLD %.9g, brute force %.9g", c, count, relation, epsilon, got, exact)
					}
					if replaced && less.Delta(epsilon) >= exact {
						t.Errorf("%+v, T %d, epsilon %v: a smaller group is not refuted", c, count, epsilon)
					}
				}
			}
		}
	}
}

// One record is the known subsampled Gaussian, bit for bit; all always is one release of
// the whole group.
func TestGroupLimits(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddRemove} {
		one := groupEvent(1, 0.7, 0.1, relation)
		zero := one
		zero.Group = 0
		a, b := pldOf(t, account.Repeat(one, 20)), pldOf(t, account.Repeat(zero, 20))
		for _, epsilon := range []float64{0.1, 1, 3} {
			must.Equal(t, a.Delta(epsilon), b.Delta(epsilon),
				"%s: a group of one record has another delta than a record", relation)
		}
		step := 2.0 // how often the sensitivity of one record
		if relation == account.AddRemove {
			step = 1
		}
		all := pldOf(t, account.Repeat(groupEvent(5, 0.1, 1, relation), 9))
		var gaussian account.GDP
		must.Do(t, gaussian.Compose(account.Repeat(account.GaussianEvent{Sensitivity: step * 5 * 0.1, Sigma: 1}, 9)))
		// A rate next to 1 must come close too: it takes the road of mixtures.
		next := pldOf(t, account.Repeat(groupEvent(5, 0.1, 1-0x1p-40, relation), 9))
		for _, epsilon := range []float64{0.1, 1, 3, 6} {
			want := gaussian.Delta(epsilon)
			for name, got := range map[string]float64{"rate 1": all.Delta(epsilon), "rate next to 1": next.Delta(epsilon)} {
				must.Within(t, got, want*(1-1e-6), want*1.01, "%s, %s, epsilon %v: Gaussian of the whole group %v",
					relation, name, epsilon, want)
			}
		}
	}
}

// More records, a higher rate, more noise and more releases order the answers, and they
// are below what follows without the law of the group: all records always, all of them
// together by one coin, and group privacy of one record.
func TestGroupOrder(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	const m, rate, count, delta = 0.25, 0.02, 200, 1e-6
	last := 0.0
	for _, k := range sizes.Of([]int{1, 3}, []int{1, 2, 3, 8}) {
		epsilon := pldOf(t, account.Repeat(groupEvent(k, m, rate, account.ReplaceOne), count)).Epsilon(delta)
		must.Above(t, epsilon, last, "%d records: epsilon", k)
		last = epsilon
		if k == 1 || k > 8 {
			continue
		}
		together := pldOf(t, account.Repeat(groupEvent(1, float64(k)*m, rate, account.ReplaceOne), count)).Epsilon(delta)
		must.Below(t, epsilon, together, "%d records: epsilon %v, not below %v of one coin for all", k, epsilon, together)
		known := pldOf(t, account.Repeat(account.GaussianEvent{Sensitivity: 2 * float64(k) * m, Sigma: 1}, count)).Epsilon(delta)
		must.Below(t, epsilon, known, "%d records: epsilon %v, not below %v of all records always", k, epsilon, known)
		// (k e, delta) for the group asks for one record at the delta that grows to it.
		single := pldOf(t, account.Repeat(groupEvent(1, m, rate, account.ReplaceOne), count))
		at := delta
		for range 30 { // it converges
			e := single.Epsilon(at)
			at = delta / (math.Expm1(float64(k)*e) / math.Expm1(e))
		}
		naive, err := privacy.GroupBudget(privacy.Budget{Epsilon: single.Epsilon(at), Delta: at}, k)
		if err == nil && epsilon >= naive.Epsilon {
			t.Errorf("%d records: epsilon %v, not below %v of group privacy", k, epsilon, naive.Epsilon)
		}
	}
	last = 0
	for _, q := range sizes.Of([]float64{0.005, 0.05, 1}, []float64{0.005, 0.01, 0.05, 0.2, 0.7, 1}) {
		epsilon := pldOf(t, account.Repeat(groupEvent(4, m, q, account.ReplaceOne), count)).Epsilon(delta)
		must.Above(t, epsilon, last, "rate %v: epsilon %v, not above %v of a smaller one", q, epsilon, last)
		last = epsilon
	}
}

// Figures of Google's dp-accounting 0.6.0 (MixtureGaussianPrivacyLoss with the binomial
// law, pessimistic, intervals 2e-5; under add/remove, the only relation it has there).
func TestGroupAgainstDPAccounting(t *testing.T) {
	for _, c := range groupFigures {
		if testing.Short() && c.k > 8 {
			continue
		}
		e := account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: c.sigma}, Rate: c.rate, Relation: account.AddRemove, Group: c.k}, c.count)
		a := pldOf(t, e)
		check := func(what string, got, want float64) {
			t.Helper()
			if want > 1e-9 && math.Abs(got-want) > 2e-3*want {
				t.Errorf("%v: %s %.9g, dp-accounting %.9g", e, what, got, want)
			}
		}
		for i, epsilon := range []float64{0.5, 1, 2, 4} {
			check(fmt.Sprintf("delta(%v)", epsilon), a.Delta(epsilon), c.delta[i])
		}
		check("epsilon(1e-5)", a.Epsilon(1e-5), c.epsilon)
	}
}

func TestGroupRefusals(t *testing.T) {
	good := groupEvent(3, 1, 0.1, account.ReplaceOne)
	laplace, negative, large := good, good, good
	laplace.Event, negative.Group, large.Group = account.LaplaceEvent{Sensitivity: 1, Scale: 1}, -1, account.MaxGroup+1
	for name, e := range map[string]account.PoissonEvent{"Laplace": laplace, "negative": negative, "too large": large} {
		if new(account.PLD).Compose(e) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	removed := good
	removed.Relation = account.AddRemove
	if new(account.RDP).Compose(removed) == nil {
		t.Error("RDP takes a group for a record")
	}
	if new(account.Total).Compose(removed) == nil {
		t.Error("the total takes add/remove neighbours for replaced ones")
	}
}

var groupFigures = []struct {
	k           int
	rate, sigma float64
	count       int
	delta       [4]float64 // at epsilon 0.5, 1, 2, 4
	epsilon     float64
}{
	{4, 0.05, 2, 100, [4]float64{0.2600157320731585, 0.15101326432153112, 0.03490485586412685, 0.00041854213829525317}, 5.2654336845535},
	{8, 0.01, 4, 500, [4]float64{0.039876636446996704, 0.0038593872218187957, 2.2108741665861552e-06, 1.0000000078747283e-15}, 1.8334026567748771},
	{16, 0.02, 5, 200, [4]float64{0.20427908349754492, 0.09898145498391928, 0.01253180050146834, 1.361519076525609e-05}, 4.070738208069386},
}
