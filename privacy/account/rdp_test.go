package account_test

import (
	"errors"
	"math"
	"math/cmplx"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// within reports whether got is an upper bound of want, by at most rel.
func within(got, want, rel float64) bool {
	return got >= want*(1-1e-13) && got <= want*(1+rel)
}

// At integer orders the moment is a binomial sum of positive terms [Mironov,
// Talwar and Zhang 2019, Section 3.3].
func TestPoissonRenyi(t *testing.T) {
	for _, m := range []float64{0.01, 0.3, 1, 3, 20} {
		for _, q := range []float64{1e-4, 0.05, 0.6, 0.999} {
			for _, alpha := range []int{2, 3, 7, 40, 300} {
				largest, logs := 0.0, []float64{}
				for k := range alpha + 1 {
					l1, _ := math.Lgamma(float64(alpha) + 1)
					l2, _ := math.Lgamma(float64(k) + 1)
					l3, _ := math.Lgamma(float64(alpha-k) + 1)
					l := l1 - l2 - l3 + float64(k)*math.Log(q) + float64(alpha-k)*math.Log1p(-q) + float64(k*(k-1))*m*m/2
					logs = append(logs, l)
					largest = max(largest, l)
				}
				sum := 0.0
				for _, l := range logs {
					sum += math.Exp(l - largest)
				}
				want := (largest + math.Log(sum)) / float64(alpha-1)
				got := account.PoissonRenyi(float64(alpha), m, q)
				// The sum itself loses digits where it is near 1.
				slack := 1e-12 * (1 + largest) * float64(alpha) / float64(alpha-1)
				must.Within(t, got, want-slack, want*(1+1e-8)+slack, "m %v, q %v, order %d: want %v", m, q, alpha, want)
			}
		}
	}
	if d := account.PoissonRenyi(2, 1, 0.1); !within(d, math.Log1p(0.01*math.Expm1(1)), 1e-9) {
		t.Errorf("order 2: %v, want log(1 + q^2 (exp(m^2) - 1))", d)
	}
}

// simpson integrates f over a..b.
func simpson(a, b float64, n int, f func(float64) float64) float64 {
	h, sum := (b-a)/float64(2*n), f(a)+f(b)
	for i := 1; i < 2*n; i++ {
		sum += float64(2+2*(i%2)) * f(a+float64(i)*h)
	}
	return sum * h / 3
}

func TestSubsetRenyi(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, m := range []float64{0.1, 0.7, 2} {
		for _, q := range []float64{1e-3, 0.2, 0.9} {
			last := 0.0
			for _, alpha := range []float64{1.01, 1.5, 4, 30} {
				f := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
				excess := simpson(m/2, m/2+alpha*m+14, 20_000, func(x float64) float64 {
					r := 1 - q + q*math.Exp(m*x-m*m/2)
					if power := math.Pow(r, alpha); power < 1e300 {
						return f(x) * (power - 1 + math.Pow(r, 1-alpha) - r)
					}
					return math.Exp(alpha*math.Log(r)-x*x/2) / math.Sqrt(2*math.Pi) // the other terms are far below
				})
				want := math.Log1p(excess) / (alpha - 1)
				got := account.SubsetRenyi(alpha, m, q)
				must.Near(t, got, want, 1e-8*want+1e-13/(alpha-1), "m %v, q %v, order %v", m, q, alpha)
				// Between the direction without mirror and no subsampling.
				must.Within(t, got, last, alpha*m*m/2, "m %v, q %v, order %v: ... the divergence", m, q, alpha)
				last = got
			}
		}
	}
}

// Orders near 1 and in the hundreds, noise from far above to far below the sensitivity,
// rare and near-full batches: the moment by a Simpson sum of logarithms.
func TestSubsetRenyiAtExtremes(t *testing.T) {
	brute := func(alpha, m, q float64) float64 {
		top := alpha*m + m/2 + 40
		n := 2 * int(math.Min(2e5, math.Max(5000, top*(100+10*m))))
		h := (top - m/2) / float64(n)
		logs := make([]float64, n+1)
		largest := math.Inf(-1)
		for i := range logs {
			x := m/2 + float64(i)*h
			l := mixLoss(q, m, x)
			up, down := alpha*l, (1-alpha)*l
			logs[i] = up + math.Log1p(math.Exp(down-up)) - x*x/2
			largest = max(largest, logs[i])
		}
		sum := 0.0
		for i, l := range logs {
			weight := 2 + 2*float64(i%2)
			if i == 0 || i == n {
				weight = 1
			}
			sum += weight * math.Exp(l-largest)
		}
		atom := (1 - q) * (1 - 2*normalTail(m/2))
		return (largest + math.Log(sum*h/3/math.Sqrt(2*math.Pi)+atom*math.Exp(-largest))) / (alpha - 1)
	}
	for _, alpha := range []float64{1.01, 1.7, 8, 1024} {
		for _, m := range []float64{0.01, 0.3, 3, 40} {
			for _, q := range []float64{1e-6, 1e-3, 0.1, 0.9} {
				if alpha*m > 1100 || testing.Short() && alpha*m > 100 {
					continue
				}
				want, got := brute(alpha, m, q), account.SubsetRenyi(alpha, m, q)
				if slack := 1e-7*want + 1e-11/(alpha-1); got < want-slack || got > want+slack {
					t.Errorf("order %v, m %v, q %v: %.12g, brute force %.12g", alpha, m, q, got, want)
				}
			}
		}
	}
}

// Batches so rare that the square of u decides, with its peak at x = 2m, beyond alpha m:
// the moment is alpha (alpha-1)/2 q^2 (exp(m^2) - 1) up to a third of q exp(2 m^2) of it.
func TestRenyiOfRareBatches(t *testing.T) {
	const m, q = 8, 1e-70
	for _, alpha := range []float64{1.0001, 1.1, 1.9} {
		want := alpha / 2 * q * q * math.Expm1(m*m)
		if got := account.PoissonRenyi(alpha, m, q); !within(got, want, 1e-8) {
			t.Errorf("Poisson, order %v: %v, want %v and no less", alpha, got, want)
		}
		// The mirror images double what lies beyond m/2, nearly all.
		if got := account.SubsetRenyi(alpha, m, q); !within(got, 2*want, 1e-8) {
			t.Errorf("without replacement, order %v: %v, want %v and no less", alpha, got, 2*want)
		}
	}
}

// At orders near 1 the difference of logarithms cancels; here the excess over 1 is a
// product, as long as it does not overflow.
func TestPureRenyiNearOne(t *testing.T) {
	for i := range 200 {
		alpha, epsilon := 1+math.Ldexp(1, -3-i%24), 2.01+0.1*float64(i)
		b, above := epsilon/2, alpha-1
		want := math.Log1p(2*math.Sinh(alpha*b)*math.Sinh(above*b)/math.Cosh(b)) / above
		got := account.PureRenyi(alpha, epsilon)
		must.Within(t, got, want*(1-1e-14), want*(1+1e-12)+1e-14*epsilon/above,
			"order %v, epsilon %v: want %v and no less", alpha, epsilon, want)
	}
}

func TestPureAndLaplaceRenyi(t *testing.T) {
	for _, loss := range []float64{1e-5, 1e-3, 0.02, 0.5, 2, 30} {
		for _, alpha := range []float64{1.0001, 1.1, 2, 9.5, 200} {
			p := 1 / (1 + math.Exp(-loss))
			slack := 1e-13 * alpha / (alpha - 1)
			want := account.FiniteRenyi(alpha, []float64{p, math.Exp(-loss) * p}, []float64{math.Exp(-loss) * p, p})
			must.Near(t, account.PureRenyi(alpha, loss), want, 1e-9*want+slack, "pure epsilon %v, order %v", loss, alpha)
			// Atoms of probability 1/2 and exp(-loss)/2, and in between density
			// exp((l-loss)/2)/4; the excess over 1 is integrated without cancellation.
			g := func(l float64) float64 { return math.Expm1((alpha - 1) * l) }
			excess := g(loss)/2 + g(-loss)*math.Exp(-loss)/2 +
				simpson(-loss, loss, 4000, func(l float64) float64 { return math.Exp((l-loss)/2) / 4 * g(l) })
			want = math.Log1p(excess) / (alpha - 1)
			got := account.LaplaceRenyi(alpha, loss)
			if (alpha-1)*loss < 600 && math.Abs(got-want) > 1e-7*want+slack {
				t.Errorf("Laplace loss %v, order %v: %v, want %v", loss, alpha, got, want)
			}
			if got > account.PureRenyi(alpha, loss)*(1+1e-9) || got > loss*(1+1e-9) {
				t.Errorf("Laplace loss %v, order %v: %v is above every pure mechanism", loss, alpha, got)
			}
		}
	}
}

// The moments are never below the loss distribution, and not far above.
func TestRDPAgainstPLD(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, e := range []account.Event{
		account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: 10}, 100),
		account.Repeat(account.PureEvent{Epsilon: 0.1}, 100),
		account.Repeat(account.RandomizedResponseEvent{Buckets: 4, Uniform: 0.9}, 40),
		account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.02, Relation: account.AddRemove}, 500),
		account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 2}, Batch: 20, Records: 400}, 300),
	} {
		var pld account.PLD
		var rdp account.RDP
		must.Do(t, errors.Join(pld.Compose(e), rdp.Compose(e)))
		for _, delta := range []float64{1e-3, 1e-9} {
			p, r := pld.Epsilon(delta), rdp.Epsilon(delta)
			must.Within(t, p, 0.75*r, r*(1+1e-3), "%v, delta %v: PLD, RDP %v", e, delta, r)
		}
	}
}

// Refused events change nothing.
func TestRefusedEvents(t *testing.T) {
	poisson := account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.1, Relation: account.AddRemove}
	replaced, laplace := poisson, poisson
	replaced.Relation = account.ReplaceOne
	laplace.Event = account.LaplaceEvent{Sensitivity: 1, Scale: 1}
	gaussian := account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 2}, 3)
	stream := account.StreamEvent{Sensitivity: 1, Sigma: 2, Count: 1}
	subset := account.WithoutReplacementEvent{Event: account.LaplaceEvent{Sensitivity: 1, Scale: 1}, Batch: 1, Records: 2}
	for _, c := range []struct {
		name   string
		a      account.Accountant
		before account.Event
		refuse []account.Event
	}{
		{"PLD, replace-one", new(account.PLD), gaussian, []account.Event{poisson, stream}},
		{"PLD, add/remove", new(account.PLD), poisson, []account.Event{gaussian, replaced, subset, stream}},
		{"RDP, replace-one", new(account.RDP), gaussian, []account.Event{poisson, replaced, laplace, subset}},
		{"RDP, add/remove", new(account.RDP), poisson, []account.Event{gaussian, stream}},
		{"ZCDP", new(account.ZCDP), gaussian, []account.Event{poisson, replaced, subset}},
		{"GDP", new(account.GDP), gaussian, []account.Event{poisson, replaced, subset}},
	} {
		must.Do(t, c.a.Compose(c.before))
		eps, delta := c.a.Epsilon(1e-5), c.a.Delta(0.5)
		for _, e := range c.refuse {
			for _, whole := range []account.Event{e, account.ComposedEvent{Events: []account.Event{c.before, e}}} {
				must.FailDo(t, c.a.Compose(whole), account.ErrUnsupported, c.name, ": ", whole, " gives")
			}
		}
		if c.a.Epsilon(1e-5) != eps || c.a.Delta(0.5) != delta {
			t.Errorf("%s: refused events changed the state", c.name)
		}
	}
	nan := math.NaN()
	for _, e := range []account.Event{
		account.LaplaceEvent{Sensitivity: nan, Scale: 1}, account.LaplaceEvent{Sensitivity: 1}, account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: 1}, 0),
		account.PureEvent{Epsilon: -1}, account.Repeat(account.PureEvent{Epsilon: 1}, 0),
		account.RandomizedResponseEvent{Buckets: 1, Uniform: 0.5}, account.RandomizedResponseEvent{Buckets: 2},
		account.RandomizedResponseEvent{Buckets: 2, Uniform: 1.5},
		account.PoissonEvent{Rate: 0.1, Relation: account.AddRemove},
		account.PoissonEvent{Event: account.PureEvent{Epsilon: 1}, Rate: 0.1, Relation: account.AddRemove},
		account.PoissonEvent{Event: account.PoissonEvent{Rate: 0.1}, Rate: 0.1, Relation: account.AddRemove},
		account.PoissonEvent{Event: account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 1}, 2), Rate: 0.1, Relation: account.AddRemove},
		account.WithoutReplacementEvent{Batch: 1, Records: 2},
		account.RepeatedEvent{Count: 2}, account.RepeatedEvent{Event: account.StreamEvent{Sensitivity: 1, Sigma: 1, Count: 1}, Count: 2},
		account.RepeatedEvent{Event: account.Repeat(account.PureEvent{Epsilon: 1}, 2), Count: 2}, account.RepeatedEvent{Event: account.ComposedEvent{}, Count: 2},
		account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.1},
		account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Relation: account.AddRemove},
		account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 1.1, Relation: account.AddRemove},
		account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Batch: 3, Records: 2},
		account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Records: 2},
	} {
		for name, a := range map[string]account.Accountant{"PLD": new(account.PLD), "RDP": new(account.RDP), "ZCDP": new(account.ZCDP)} {
			if err := a.Compose(e); err == nil || a.Epsilon(1e-5) != 0 {
				t.Errorf("%s accepts %#v", name, e)
			}
		}
	}
	for _, orders := range [][]float64{{1}, {0.5}, {nan}, {math.Inf(1)}} {
		must.ErrDo(t, (&account.RDP{Orders: orders}).Compose(gaussian), "orders %v are accepted", orders)
	}
}

// The transform against the defining sum, within the proved bound and the errors
// of that sum; and the bound is not so large that it would hide an error.
func TestTransform(t *testing.T) {
	const n = 64
	for _, backward := range []bool{false, true} {
		x, want := make([]complex128, n), make([]complex128, n)
		for i := range x {
			x[i] = complex(math.Sin(float64(3*i*i)), math.Cos(float64(7*i)))
		}
		norm := 0.0
		for k := range want {
			for j, v := range x {
				angle := -2 * math.Pi * float64(j*k%n) / n
				if backward {
					angle = -angle
				}
				want[k] += v * cmplx.Exp(complex(0, angle))
			}
			if backward {
				want[k] /= n
			}
			norm += real(want[k])*real(want[k]) + imag(want[k])*imag(want[k])
		}
		bound := account.Transform(x, backward)
		diff := 0.0
		for k := range x {
			d := cmplx.Abs(x[k] - want[k])
			diff += d * d
		}
		if relative := math.Sqrt(diff / norm); relative > bound+n*0x1p-52 || bound > 1e-13 {
			t.Errorf("backward %v: relative error %v, bound %v", backward, relative, bound)
		}
	}
}

func BenchmarkRDP(b *testing.B) {
	for name, e := range map[string]account.Event{
		"poisson/q=0.01/sigma=1": account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.01, Relation: account.AddRemove}, 10_000),
		"subset/q=0.05/sigma=2":  account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 2}, Batch: 50, Records: 1000}, 1000),
		"gaussian":               account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 40}, 1000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var a account.RDP
				if err := a.Compose(e); err != nil || !(a.Epsilon(1e-6) > 0) {
					b.Fatal(err)
				}
			}
		})
	}
}
