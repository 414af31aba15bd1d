package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// exactly is v with enough digits for sums of products of any float64 numbers here.
func exactly(v float64) *big.Float { return new(big.Float).SetPrec(2400).SetFloat64(v) }

func exactProduct(a, b float64) *big.Float {
	return new(big.Float).SetPrec(2400).Mul(exactly(a), exactly(b))
}

// clippedOnHost is x~ as the kernels compute it, for the centre 0.
func clippedOnHost(x []float64, radius float64) []float64 {
	d := len(x)
	var square float64
	for _, v := range x {
		square = math.FMA(v, v, square)
	}
	s := radius * (1 - (float64(d)+24)*0x1p-51) / math.Sqrt(square)
	if !(s < 1) {
		s = 1
	}
	clipped := make([]float64, d)
	for k, v := range x {
		clipped[k] = v * s
	}
	return clipped
}

// TestMomentsAgainstExactSums: sums over the records as they were clipped are within MomentsError of the
// exact ones, by every kernel, at the ends of the range of radii, and where squares underflow; and
// no clipped record is longer than the radius.
func TestMomentsAgainstExactSums(t *testing.T) {
	for _, c := range []struct {
		n, d                int
		norm, radius, scale float64
	}{
		{700, 3, 1, 0.3, 1}, {2100, 1, 1, 0.3, 1}, {300, 31, 1, 0.9, 1}, {260, 33, 1, 0.9, 1},
		{140, 3, 0x1p500, 0x1p-500, 0x1p500}, {140, 3, 0x1p-499, 0x1p-500, 0x1p-538}, {140, 3, 1, 0x1p-500, 0x1p-536},
		{140, 40, 0x1p500, 0x1p500, 0x1p500}, {140, 40, 0x1p-499, 0x1p-500, 0x1p-538},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		x, y := make([]float64, c.n*c.d), make([]float64, c.n)
		for i := range x {
			x[i] = rng.NormFloat64() * c.scale / math.Sqrt(float64(c.d))
			if i%3 == 0 {
				x[i] *= 0x1p-30
			}
		}
		for i := range y {
			y[i] = 2*rng.Float64() - 1
		}
		bounds := engine.UnitBounds()
		bounds.FeatureNorm = c.norm
		p := engine.Problem{N: c.n, D: c.d, Bounds: bounds, Loss: engine.Logistic{}, Radius: 1, LabelValues: engine.AnyLabels}
		r := must.Get(engine.NewRecords(x, y, c.d, bounds))(t)
		// Of a x~, and of x~_k^2.
		sum, square, shares := make([]*big.Float, c.d), make([]*big.Float, c.d), exactly(0)
		for k := range sum {
			sum[k], square[k] = exactly(0), exactly(0)
		}
		limit, row := exactProduct(c.radius, c.radius), make([]float64, c.d)
		m := engine.Query{Radius: c.radius, Signed: true, Offset: -0.3}
		for i := range c.n {
			r.Row(i, row)
			label, length := r.Labels()[i], exactly(0)
			shares.Add(shares, exactly((1+label)/2))
			for k, v := range clippedOnHost(row, c.radius) {
				sum[k].Add(sum[k], exactProduct(v, (label-m.Offset)/(1+math.Abs(m.Offset))))
				square[k].Add(square[k], exactProduct(v, v))
				length.Add(length, exactProduct(v, v))
			}
			if length.Cmp(limit) > 0 {
				t.Fatalf("%+v: record %d is longer than the radius", c, i)
			}
		}
		away := func(got []float64, want []*big.Float) (e float64) {
			for k := range want {
				v, _ := new(big.Float).SetPrec(2400).Sub(exactly(got[k]), want[k]).Float64()
				e = math.Hypot(e, v)
			}
			return e
		}
		for _, m.Second = range []engine.SecondMoments{engine.NoSecond, engine.DiagonalSecond, engine.FullSecond} {
			got, k := must.Get2(momentsOf(openFake(t, newFake()), p, r, m))(t)
			diagonal := got.Second
			if m.Second == engine.FullSecond { // its first entry of each row
				diagonal = nil
				for at, k := 0, 0; k < c.d; k++ {
					diagonal = append(diagonal, got.Second[at])
					at += c.d - k
				}
			}
			e := k.Bounds(engine.Query{Radius: c.radius, Second: m.Second})
			must.Within(t, away(got.Sum, sum), 0, e.Sum, "%+v, %v: the sum is ... away", c, m.Second)
			if a := away(diagonal, square[:len(diagonal)]); m.Second != engine.NoSecond && !(a <= e.Second) {
				t.Errorf("%+v, %v: squares are %g away, more than %g", c, m.Second, a, e.Second)
			}
			must.Within(t, away([]float64{got.Positives()}, []*big.Float{shares}), 0, e.Positives, "%+v: the shares are ... away", c)
		}
	}
}

// TestMomentsErrorIsNear: records whose sums round down in nearly every addition come to a fifth of
// MomentsError, so that a depth that leaves additions out would be seen.
func TestMomentsErrorIsNear(t *testing.T) {
	for _, c := range []struct {
		d      int
		second engine.SecondMoments
	}{{40, engine.FullSecond}, {1, engine.NoSecond}} {
		const n = 256
		v := math.Floor((1-0x1p-30)*0x1p45)*0x1p-45 + 0x1p-46 - 0x1p-52
		if c.d == 1 { // two fused additions in each of 128 threads
			v = math.Floor((1-0x1p-30)*0x1p45)*0x1p-45 + 0x1p-47 - 0x1p-52
		}
		x, y := make([]float64, n*c.d), make([]float64, n)
		for i := range n {
			x[i*c.d], y[i] = v, 1
		}
		p := engine.Problem{N: n, D: c.d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
		r := must.Get(engine.NewRecords(x, y, c.d, p.Bounds))(t)
		got, k := must.Get2(momentsOf(openFake(t, newFake()), p, r, engine.Query{Radius: 1, Second: c.second}))(t)
		want := exactProduct(v, n)
		e, _ := want.Sub(want, exactly(got.Sum[0])).Float64()
		if share := math.Abs(e) / k.Bounds(engine.Query{Radius: 1, Second: c.second}).Sum; share < 0.2 || share > 1 {
			t.Errorf("d = %d: the error is %.3g of the bound", c.d, share)
		}
	}
}

// personsOf gives the rows of r to persons with these numbers of rows, in turn.
func personsOf(t *testing.T, p engine.Problem, r *engine.Records, counts ...int) (engine.Problem, *engine.Records) {
	t.Helper()
	first := []int{0}
	for left := r.Len(); left > 0; {
		m := min(counts[(len(first)-1)%len(counts)], left)
		first, left = append(first, first[len(first)-1]+m), left-m
		p.PersonRows = max(p.PersonRows, m)
	}
	p.N = len(first) - 1
	r = must.Get(r.WithPersons(first, p.PersonRows))(t)
	return p, r
}

// personMoments compares all passes over persons with the CPU, and returns what is wrong.
func personMoments(t *testing.T, b Backend, short bool) (wrong error) {
	t.Helper()
	for i, c := range momentCases(short) {
		if !short && c.n < 300 || (i/6+i)%2 == 1 {
			continue
		}
		p, r, _ := records(t, c.n, c.d, 2)
		p, r = personsOf(t, p, r, 1, 3, 1, 7, 150)
		if err := apart(c, p, r, b); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%d rows, d = %d, %v: %w", c.n, c.d, c.m.Second, err))
		}
	}
	return wrong
}

// TestMomentsOfPersons: sums over the rows of persons are those of the CPU, and without weights they are not.
func TestMomentsOfPersons(t *testing.T) {
	must.CheckDo(t, personMoments(t, openFake(t, newFake()), true))
	f := defective(func(ptx string) string { return editEntry(ptx, "weigh_rows", "mul.rn.f64", "max.f64") })
	if wrong := personMoments(t, openFake(t, f), true); !f.edited || wrong == nil {
		t.Errorf("sums over rows pass for those over persons: edited %v", f.edited)
	}
}

// TestPersonsReplacedInMoments: a person that is replaced, one row by 150 in the other direction, moves
// the sums by what docs/theory.md#person-moments allows and, in the worst case, no less; without weights by far more.
func TestPersonsReplacedInMoments(t *testing.T) {
	const d, persons, rows, radius = 3, 9, 150, 0.5
	sums := func(f *fakeDriver, many bool) ([]float64, float64) {
		p := engine.Problem{N: persons, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2, PersonRows: rows}
		first, x, y := []int{0}, []float64{}, []float64{}
		for k := range persons {
			m, way := 1+k%3, 1.0
			if k == 4 {
				if m = 1; many {
					m, way = rows, -1
				}
			}
			for range m {
				x, y = append(x, way, 0, 0), append(y, 1)
			}
			first = append(first, len(y))
		}
		r := must.Get(must.Get(engine.NewRecords(x, y, d, p.Bounds))(t).WithPersons(first, rows))(t)
		m := engine.Query{Radius: radius, Second: engine.DiagonalSecond}
		got, k := must.Get2(momentsOf(openFake(t, f), p, r, m))(t)
		if want := float64(persons) * radius * radius; f.edit == nil && math.Abs(got.Second[0]-want) > 1e-12 {
			t.Errorf("second moments %v, want %v: persons do not count alike", got.Second, want)
		}
		return got.Sum, k.Bounds(m).Sum
	}
	move := func(f *fakeDriver) (float64, float64) {
		a, rho := sums(f, false)
		b, _ := sums(f, true)
		return apartBy(a, b), 2 * rho
	}
	if moved, slack := move(newFake()); !(moved <= 2*radius+slack) || moved < 2*radius-1e-9 {
		t.Errorf("a person moves the sum by %v, want %v within %g", moved, 2*radius, slack)
	}
	f := defective(func(ptx string) string { return editEntry(ptx, "weigh_rows", "mul.rn.f64", "max.f64") })
	if moved, _ := move(f); moved < 2*radius*10 {
		t.Errorf("without weights a person moves the sum by %v", moved)
	}
}
