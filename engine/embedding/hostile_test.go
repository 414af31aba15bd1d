package embedding_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// hostile is an MLP as a Graph whose numbers are those of extremes for a record whose last feature is
// (kind+1)/2048.
type hostile struct{ embedding.MLP }

func (h hostile) NewTape() (embedding.Tape, error) {
	set, err := kernels.Select(kernels.Generic)
	return hostileTape{tape{graph{MLP: h.MLP, limit: 2}, h.MLP.NewPass(set)}}, err
}

type hostileTape struct{ tape }

// extremes are what f is filled with, and J or one entry of it; NaN for as computed.
var extremes = func() (all []struct {
	f, jac float64
	one    bool
}) {
	sizes := []float64{math.NaN(), 1e-200, 1e153, 1e155, math.MaxFloat64, math.Inf(1)}
	for _, f := range sizes {
		for _, jac := range sizes {
			for _, one := range []bool{false, true} {
				all = append(all, struct {
					f, jac float64
					one    bool
				}{f, jac, one})
			}
		}
	}
	return all
}()

func (t hostileTape) Jacobian(f, jac, x []float64) error {
	if err := t.tape.Jacobian(f, jac, x); err != nil {
		return err
	}
	kind := math.Round(x[2]*2048) - 1
	if kind < 0 || kind > float64(len(extremes)) {
		return nil
	}
	if int(kind) == len(extremes) {
		f[0], jac[0] = math.NaN(), math.NaN()
		return errors.New("no value")
	}
	c := extremes[int(kind)]
	fill := func(to []float64, v float64) {
		for i := range to {
			if !math.IsNaN(v) {
				to[i] = v * float64(1-2*(i%2))
			}
		}
	}
	fill(f, c.f)
	if fill(jac[:1], c.jac); !c.one {
		fill(jac, c.jac)
	}
	return nil
}

// TestHostileRecords replaces a record of a network by ones whose embedding and Jacobian have extreme
// numbers, in every path of the sums: all terms stay numbers, those of other pairs stay as they are, and the sum moves by
// no more than its certificate.
func TestHostileRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 4))
	for _, m := range []int{1, 3} {
		net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{4}, Out: m}))(t)
		pairs := append(losses(t, m), kinked(t, m)...)
		if testing.Short() {
			pairs = pairs[len(pairs)-4:]
		}
		for _, output := range []embedding.Output{{Unit: true}, {Within: 1}} {
			for i, pair := range pairs {
				for k, c := range []struct {
					method cpu.Method
					most   int
					clip   float64
				}{{cpu.Auto, 0, 0}, {cpu.Direct, 0, 0}, {cpu.Sorted, 0, 0}, {cpu.NearLinear, 0, 0}, {cpu.Auto, 2, 0}, {cpu.Auto, 0, 0.01}} {
					if _, score := pair.(embedding.Score); !score && c.method != cpu.Auto {
						continue
					}
					if k > 0 && (i+k)%3 != 0 && !sizes.Full() {
						continue
					}
					l := embedding.Loss{Model: embedding.Model{Network: embedding.NewGraph(hostile{net}), Output: output}, Pair: pair, Clip: 0.5, PairClip: c.clip, Seed: 5}
					checkHostile(t, l, c.method, c.most, rng)
				}
			}
		}
	}
}

func checkHostile(t *testing.T, l embedding.Loss, method cpu.Method, most int, rng *rand.Rand) {
	t.Helper()
	const n = 5
	build := func(kind int) *engine.Records {
		r := data(t, 3, n, most, false)
		x := slices.Clone(r.Dense())
		for i := range x {
			if x[i] /= 2; i%3 == 2 {
				x[i] = -math.Abs(x[i])
			}
		}
		if kind >= 0 {
			last, _ := r.UnitRows(n - 1)
			x[3*last+2] = float64(kind+1) / 2048
		}
		made, err := engine.NewRecords(x, slices.Clone(r.Labels()), 3, r.Bounds())
		if err == nil && most > 0 {
			var of []int32
			for u := range r.Units() {
				from, to := r.UnitRows(u)
				for range to - from {
					of = append(of, int32(u))
				}
			}
			made, err = made.GroupPersons(of, n, most)
		}
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	theta := l.Domain(3, l.Radius()).Start()
	plain := build(-1)
	p := problem(l, plain, most)
	b := embedding.Backend{Workers: 1, Method: method}
	k, err := b.Plan(p)
	switch {
	case errors.Is(err, engine.ErrUnsupported): // a method that a loss does not have
		return
	case err != nil:
		t.Fatal(err)
	}
	c := must.Get(l.Constants(plain.Bounds(), l.Radius()))(t)
	name := fmt.Sprintf("%s, %s, method %v, persons %d, pair clip %g", describe(l), k.Method(), method, most, l.PairClip)
	base, rho := gradient(t, b, p, plain, theta)
	for kind := range len(extremes) + 1 {
		r := build(kind)
		got, _ := gradient(t, b, p, r, theta)
		if d := distance(base, got); !(d <= 2*(n-1)*c.PairDiameter+2*rho) {
			t.Errorf("%s: extreme %d moves the sum by %g, certificate %g", name, kind, d, 2*(n-1)*c.PairDiameter+2*rho)
			return
		}
		if l.PairClip == 0 {
			if d := distance(definition(l, r, theta), got); !(d <= rho+1e-11*n*n*c.Lipschitz) {
				t.Errorf("%s: extreme %d: off by %g from its terms, roundoff %g", name, kind, d, rho)
				return
			}
		}
	}
}
