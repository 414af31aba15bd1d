package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// momentCase is a pass over the records of a problem.
type momentCase struct {
	n, d int
	m    engine.Query
}

// momentCases have every kind of a, of second moments and of clipping, both sides of the width up to
// which X is read once, and more records than a tile, a stage and a chunk.
func momentCases(short bool) (all []momentCase) {
	sizes := [][2]int{{5, 1}, {300, 3}, {2100, 7}, {290, 31}, {290, 32}, {270, 70}}
	if short {
		sizes = [][2]int{{300, 3}, {270, 33}}
	}
	for _, s := range sizes {
		rng := rand.New(rand.NewPCG(uint64(s[0]), uint64(s[1])))
		centre, model := make([]float64, s[1]), make([]float64, s[1])
		for k := range centre {
			centre[k], model[k] = 0.3*rng.NormFloat64()/math.Sqrt(float64(s[1])), 3*rng.NormFloat64()
		}
		for _, m := range []engine.Query{
			{Radius: 1},
			{Radius: 0.5, Signed: true, Offset: -0.3, Second: engine.DiagonalSecond},
			{Radius: 0.7, Class: 1, Centre: centre, Second: engine.FullSecond},
			{Radius: 0.9, Class: -1, Second: engine.FullSecond},
			{Radius: 0.4, Centre: centre, W: model, Intercept: 0.2, Second: engine.FullSecond},
			{Radius: 2, W: model, Intercept: -900},
		} {
			all = append(all, momentCase{s[0], s[1], m})
		}
	}
	return all
}

// momentsOf are the moments of a backend.
func momentsOf(b engine.Backend, p engine.Problem, r *engine.Records, m engine.Query) (engine.Moments, engine.Kernel, error) {
	sums := engine.NewMoments(p.D, m.Second)
	k, err := b.PlanMoments(p)
	if err != nil {
		return sums, nil, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return sums, k, err
	}
	err = e.Sum(context.Background(), sums.All, m)
	return sums, k, errors.Join(err, e.Close())
}

// apart is what is wrong with the moments of a GPU, by those of the CPU: both are within their
// bounds of sums over x~ that differ by the rounding of a scale and a product.
func apart(c momentCase, p engine.Problem, r *engine.Records, b engine.Backend) error {
	got, gpu, err := momentsOf(b, p, r, c.m)
	if err != nil {
		return err
	}
	want, onCPU, err := momentsOf(cpu.Backend{Workers: 1}, p, r, c.m)
	if err != nil {
		return err
	}
	n, d := float64(c.n), float64(c.d)
	x, y := gpu.Bounds(engine.Query{Radius: c.m.Radius, Second: c.m.Second}), onCPU.Bounds(engine.Query{Radius: c.m.Radius, Second: c.m.Second})
	row := (d + 40) * 0x1p-52 * (1 + c.m.Radius) // of x~ and a
	if e := math.Abs(got.Positives() - want.Positives()); !(e <= x.Positives+y.Positives) {
		return fmt.Errorf("%v positives, want %v", got.Positives(), want.Positives())
	}
	if e := apartBy(got.Sum, want.Sum); !(e <= x.Sum+y.Sum+n*row*(2+c.m.Radius)) {
		return fmt.Errorf("the sum is %g away", e)
	}
	if e := apartBy(got.Second, want.Second); !(e <= x.Second+y.Second+n*row*2*c.m.Radius) {
		return fmt.Errorf("the second moments are %g away", e)
	}
	return nil
}

// momentFamily is TestMoments on a GPU, with chunks that a block adds up in many stages, and panels.
func momentFamily(t *testing.T, b Backend) {
	cases := momentCases(testing.Short() || rehearsed())
	for _, d := range []int{20, 130} {
		if !rehearsed() {
			cases = append(cases, momentCase{partSizes(false)[len(partSizes(false))-1], d, engine.Query{Radius: 0.8, Signed: true, Second: engine.FullSecond}})
		}
	}
	for _, c := range cases {
		p, r, _ := records(t, c.n, c.d, 2)
		must.CheckDo(t, apart(c, p, r, b), fmt.Sprintf("n = %d, d = %d, %v", c.n, c.d, c.m.Second))
	}
	momentPanels(t, b, 20)
	if !rehearsed() {
		must.CheckDo(t, personMoments(t, b, testing.Short()))
	}
}

// TestMoments compares all passes with the CPU, resident and in panels.
func TestMoments(t *testing.T) {
	for i, c := range momentCases(testing.Short()) {
		if (i/6+i)%2 == 1 && !sizes.Full() {
			continue // every size and every kind of sum stays
		}
		p, r, _ := records(t, c.n, c.d, 2)
		must.CheckDo(t, apart(c, p, r, openFake(t, newFake())), fmt.Sprintf("n = %d, d = %d, radius %g, class %g, model %v, %v", c.n, c.d, c.m.Radius, c.m.Class, c.m.W != nil, c.m.Second))
	}
}

// TestMomentsInPanels: records that do not fit into the GPU have sums of the same bits.
func TestMomentsInPanels(t *testing.T) {
	momentPanels(t, openFake(t, newFake()), 2)
	if !testing.Short() {
		momentPanels(t, openFake(t, newFake()), 33)
	}
}

func momentPanels(t *testing.T, b Backend, d int) {
	t.Helper()
	p, r, _ := records(t, 5444, d, 2)
	narrow, r := narrowed(t, p, r)
	m := engine.Query{Radius: 0.8, Signed: true, Second: engine.DiagonalSecond}
	want, k := must.Get2(momentsOf(b, p, r, m))(t)
	g := k.(*momentsKernel).grid
	b.Memory = k.(*momentsKernel).columnBytes() + driverBytes + uint64(8*d*(g.chunks()+2)+g.tileBytes()*g.tiles()*3/4)
	got, k, err := momentsOf(b, p, r, m)
	if err != nil || k.(*momentsKernel).grid.resident {
		t.Fatalf("resident %v, %v", k.(*momentsKernel).grid.resident, err)
	}
	if !slices.Equal(got.Sum, want.Sum) || !slices.Equal(got.Second, want.Second) || got.Positives() != want.Positives() {
		t.Errorf("d = %d: panels have other bits", d)
	}
	b.Memory -= uint64(g.tileBytes() * g.tiles() / 2) // panels in float32, too
	if got, k, err = momentsOf(b, p, narrow, m); err != nil || !slices.Equal(got.Sum, want.Sum) || !slices.Equal(got.Second, want.Second) {
		t.Errorf("d = %d: panels in float32 have other bits, %v", d, err)
	}
	if own, err := k.(*momentsKernel).over(p.N, true); err != nil || own.grid.resident {
		t.Errorf("d = %d: resident, %v", d, err)
	}
}

// TestClippedRecords: the sum over a class with one record is that record as it was clipped: its exact
// norm is at most the radius, and neither its place nor other records change a bit of it.
func TestClippedRecords(t *testing.T) {
	for _, d := range []int{1, 5, 40} {
		for _, radius := range []float64{1, 0.3, 0x1p-300} {
			var last []float64
			for other := range 3 {
				rng := rand.New(rand.NewPCG(7, uint64(d)))
				n := 140 + 130*other
				x, y := make([]float64, n*d), make([]float64, n)
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				for i := range n {
					y[i] = -1
					x[i*d] += float64(other)
				}
				own := 133 * other // the record's place
				y[own] = 1
				for k := range d {
					x[own*d+k] = math.Cos(float64(k + 1))
				}
				p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}
				r := must.Get(engine.NewRecords(x, y, d, p.Bounds))(t)
				got, _ := must.Get2(momentsOf(openFake(t, newFake()), p, r, engine.Query{Radius: radius, Class: 1}))(t)
				if last != nil && !slices.Equal(got.Sum, last) {
					t.Errorf("d = %d, radius %g: other records change the bits of a clipped one", d, radius)
				}
				last = got.Sum
				square := new(big.Float).SetPrec(2000)
				for _, v := range got.Sum {
					b := new(big.Float).SetPrec(2000).SetFloat64(v)
					square.Add(square, b.Mul(b, b))
				}
				limit := new(big.Float).SetPrec(2000).SetFloat64(radius)
				if limit.Mul(limit, limit); square.Cmp(limit) > 0 {
					t.Errorf("d = %d: a clipped record is longer than %g", d, radius)
				} else if short, _ := new(big.Float).Quo(square, limit).Float64(); radius < 1 && short < 1-1e-9 {
					t.Errorf("d = %d: a long record is clipped to %g of the radius", d, math.Sqrt(short))
				}
			}
		}
	}
}

// TestMomentDefects is the control of TestMoments: small defects of the kernels show.
func TestMomentDefects(t *testing.T) {
	sizes.NotShort(t, "slow")
	for name, edit := range map[string][2]string{
		"no root":                      {"sqrt.rn.f64", "mov.f64"},
		"the centre is added":          {"sub.rn.f64", "add.rn.f64"},
		"products are sums":            {"fma.rn.f64", "add.rn.f64"},
		"a class is never left out":    {"setp.eq.f64", "setp.geu.f64"},
		"threads wait for nothing":     {"bar.sync", "//"},
		"a constant of the sigmoid":    {"0dBFE62E42FEE00000", "0dBFE62F42FEE00000"},
		"the last rows are left twice": {"min.u64", "max.u64"},
	} {
		f := defective(replacing(edit[0], edit[1], "clipped_small"))
		found := false
		for _, c := range momentCases(true) {
			p, r, _ := records(t, c.n, c.d, 2)
			if found = apart(c, p, r, openFake(t, f)) != nil; found {
				break
			}
		}
		if !f.edited || !found {
			t.Errorf("%s: edited %v, found %v", name, f.edited, found)
		}
	}
}

// TestMomentsRefuse: what a kernel of moments does not do, and cancelling.
func TestMomentsRefuse(t *testing.T) {
	p, r, w := records(t, 40, 3, 2)
	k := must.Get(openFake(t, newFake()).PlanMoments(p))(t)
	e := must.Get(k.Bind(r))(t)
	must.FailDo(t, e.Sum(context.Background(), make([]float64, 3), engine.Gradient(w, engine.AllPairs{N: p.N})), engine.ErrUnsupported, "gradients")
	m := engine.Query{Radius: 1}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sums := engine.NewMoments(3, engine.NoSecond)
	must.FailDo(t, e.Sum(ctx, sums.All, m), context.Canceled, "cancelled")
	must.ErrDo(t, e.Sum(context.Background(), nil, m), "no room for the sums, and no error")
	must.CheckDo(t, e.Close())
	must.ErrDo(t, e.Sum(context.Background(), sums.All, m), "sums after Close")
	f := newFake()
	f.memory = 1 << 20
	refused(openFake(t, f).PlanMoments(p))(t, "a GPU of a MiB")
}

// narrowed are the records rounded to float32, kept so and in float64.
func narrowed(t *testing.T, p engine.Problem, r *engine.Records) (narrow, wide *engine.Records) {
	t.Helper()
	x, same, row := make([]float32, p.N*p.D), make([]float64, p.N*p.D), make([]float64, p.D)
	for i := range p.N {
		r.Row(i, row)
		for k, v := range row {
			x[i*p.D+k] = engine.TowardZero(v)
			same[i*p.D+k] = float64(x[i*p.D+k])
		}
	}
	narrow = must.Get(engine.AdoptNarrowRecords(x, slices.Clone(r.Labels()), p.D, p.Bounds))(t)
	wide = must.Get(engine.AdoptRecords(same, slices.Clone(r.Labels()), p.D, p.Bounds))(t)
	return narrow, wide
}

// TestMomentsOfNarrowRecords: records kept in float32 are copied to the GPU and read there as such, and have the sums of the same numbers in float64, bit for bit.
func TestMomentsOfNarrowRecords(t *testing.T) {
	m := engine.Query{Radius: 0.5, Signed: true}
	for _, c := range []struct {
		n, d   int
		second engine.SecondMoments
	}{{300, 5, engine.FullSecond}, {270, 40, engine.FullSecond}, {270, 33, engine.DiagonalSecond}} {
		p, r, _ := records(t, c.n, c.d, 2)
		narrow, wide := narrowed(t, p, r)
		m.Second = c.second
		want, _ := must.Get2(momentsOf(openFake(t, newFake()), p, wide, m))(t)
		f := newFake()
		b := openFake(t, f)
		got, _ := must.Get2(momentsOf(b, p, narrow, m))(t)
		if !slices.ContainsFunc(f.calls, func(call string) bool { return strings.HasSuffix(call, "_narrow") }) || !slices.Equal(got.Sum, want.Sum) || !slices.Equal(got.Second, want.Second) {
			t.Errorf("n = %d, d = %d: records in float32 have other sums, or were not read as such", c.n, c.d)
		}
	}
}
