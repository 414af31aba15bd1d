package engine_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// exactNormAtMost compares the exact squared norm with the exact R^2.
func exactNormAtMost(x []float64, R float64) bool {
	sum, square := new(big.Rat), new(big.Rat)
	for _, v := range x {
		r := new(big.Rat)
		if r.SetFloat64(v) == nil {
			return false
		}
		sum.Add(sum, square.Mul(r, r))
	}
	bound := new(big.Rat).SetFloat64(R)
	return sum.Cmp(bound.Mul(bound, bound)) <= 0
}

// However large, small or broken a row is, its exact norm ends up at most R, and
// labels within their bound.
func FuzzRecords(f *testing.F) {
	f.Add(1.0, 1.0, 1.0, 1.0, 1.0)
	f.Add(math.NaN(), 1.0, 1.0, 2.0, -3.0)
	f.Add(math.Inf(1), 0.0, -1.0, 0.5, math.Inf(-1))
	f.Add(1e308, -1e308, 1e308, 1e-3, math.NaN())
	f.Add(5e-324, 1e-310, 0.0, 1.0, 0.3)
	f.Add(1e-200, 1e-200, 1e-200, 1e-200, 1.0)
	f.Add(0.6, 0.8, 5e-324, 1.0, -1.0)
	f.Add(1/math.Sqrt(3), 1/math.Sqrt(3), 1/math.Sqrt(3), 1.0, 1.0)
	f.Fuzz(func(t *testing.T, a, b, c, R, y float64) {
		bounds := engine.Bounds{FeatureNorm: R, LabelAbs: 1}
		r, err := engine.NewRecords([]float64{a, b, c, 0, 0, 0}, []float64{y, 1}, 3, bounds)
		if bounds.Validate() != nil {
			if err == nil {
				t.Fatalf("bounds %v were accepted", bounds)
			}
			return
		}
		if err != nil {
			t.Fatal(err) // content never causes an error
		}
		if R < 1e-290 { // squares of the bound itself leave float64's range
			return
		}
		row := make([]float64, 3)
		r.Row(0, row)
		if !exactNormAtMost(row, R) {
			t.Errorf("row %v has a norm above %v", row, R)
		}
		if math.Abs(r.Label(0)) > 1 || math.IsNaN(r.Label(0)) {
			t.Errorf("label %v is out of bounds", r.Label(0))
		}
	})
}

// TestProjectBallOfShortRows compares the rows that a first look leaves as they are with the projection
// without it: close to the ball, with numbers that overflow or underflow when squared, and with some that are not finite.
func TestProjectBallOfShortRows(t *testing.T) {
	project := func(x []float64, R float64) {
		var largest, sum float64
		for _, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				clear(x)
				return
			}
			largest = max(largest, math.Abs(v))
		}
		if largest == 0 {
			return
		}
		for _, v := range x {
			sum += v / largest * (v / largest)
		}
		norm, slack := math.Sqrt(sum), 1-float64(len(x)+8)*0x1p-52
		if norm*largest > R*slack {
			s := R / norm * slack
			for k := range x {
				x[k] = x[k] / largest * s
			}
		}
	}
	random := rand.New(rand.NewPCG(8, 8))
	kept := 0
	for range 20_000 {
		m, R := 1+random.IntN(40), math.Ldexp(1+random.Float64(), []int{0, 0, 3, -479, -490, 479, 490, -2000}[random.IntN(8)])
		x := make([]float64, m)
		var sum float64
		for k := range x {
			x[k] = random.NormFloat64()
			sum += x[k] * x[k]
		}
		scale := R / math.Sqrt(sum) * (1 - float64(random.IntN(100*m+400)-200)*0x1p-53)
		for k := range x {
			x[k] *= scale
		}
		switch random.IntN(20) {
		case 0:
			x[0] = math.Inf(1)
		case 1:
			x[m-1] = math.NaN()
		case 2:
			x[0] = 0x1p1000
		case 3:
			x[m-1] = 0x1p-700
		}
		want := slices.Clone(x)
		project(want, R)
		if slices.Equal(want, x) {
			kept++
		}
		engine.ProjectBall(x, R)
		if !slices.EqualFunc(x, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("R = %g, m = %d: %v, want %v", R, m, x, want)
		}
	}
	if kept < 2000 || kept > 18_000 {
		t.Errorf("%d of 20000 rows are within the ball: both sides should be met", kept)
	}
}

func TestProjectBallKeepsWhatFitsAndIsClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		d := 1 + rng.IntN(40)
		R := math.Exp(10*rng.Float64() - 5)
		x := make([]float64, d)
		for k := range x {
			x[k] = rng.NormFloat64() * R * math.Exp(4*rng.Float64()-2) / math.Sqrt(float64(d))
		}
		was := append([]float64(nil), x...)
		engine.ProjectBall(x, R)
		if !exactNormAtMost(x, R) {
			t.Fatalf("norm above R = %v after projection of %v", R, was)
		}
		// Distance to the exact projection, in 200 bits.
		sum := new(big.Float).SetPrec(200)
		for _, v := range was {
			f := new(big.Float).SetPrec(200).SetFloat64(v)
			sum.Add(sum, f.Mul(f, f))
		}
		factor := new(big.Float).SetPrec(200).SetFloat64(1)
		if norm := new(big.Float).SetPrec(200).Sqrt(sum); norm.Cmp(new(big.Float).SetFloat64(R)) > 0 {
			factor.Quo(new(big.Float).SetPrec(200).SetFloat64(R), norm)
		}
		distance := new(big.Float).SetPrec(200)
		for k, v := range was {
			f := new(big.Float).SetPrec(200).SetFloat64(v)
			f.Sub(f.Mul(f, factor), new(big.Float).SetFloat64(x[k]))
			distance.Add(distance, f.Mul(f, f))
		}
		if d2, _ := distance.Sqrt(distance).Float64(); d2 > engine.ProjectBallError(d, R) {
			t.Fatalf("d = %d: %.3g from the exact projection, bound %.3g", d, d2, engine.ProjectBallError(d, R))
		}
	}
}

func TestSparseRecords(t *testing.T) {
	b := engine.UnitBounds()
	r := must.Get(engine.NewSparseRecords([]int64{0, 2, 2, 3}, []int32{0, 3, 1}, []float64{3, 4, 0.5}, []float64{1, -1, 1}, 4, b))(t)
	row := make([]float64, 4)
	r.Row(0, row)
	if !exactNormAtMost(row, 1) || math.Abs(row[0]-0.6) > 1e-14 || math.Abs(row[3]-0.8) > 1e-14 {
		t.Errorf("row 0 is %v, want (0.6, 0, 0, 0.8)", row)
	}
	if r.MaxRow() != 2 || !r.IsSparse() || r.Dense() != nil {
		t.Errorf("MaxRow %d, sparse %v", r.MaxRow(), r.IsSparse())
	}
	s := r.Subset([]int{2, 0})
	s.Row(0, row)
	if row[1] != 0.5 || s.Label(1) != 1 || s.MaxRow() != 2 {
		t.Errorf("subset row %v, label %v", row, s.Label(1))
	}
	for name, c := range map[string]struct {
		start  []int64
		column []int32
		labels int
	}{
		"decreasing columns":   {[]int64{0, 2}, []int32{1, 0}, 1},
		"repeated column":      {[]int64{0, 2}, []int32{1, 1}, 1},
		"column too large":     {[]int64{0, 1}, []int32{4}, 1},
		"negative column":      {[]int64{0, 1}, []int32{-1}, 1},
		"offsets out of order": {[]int64{0, 2, 1, 3}, []int32{0, 1, 2}, 3},
		"too few offsets":      {[]int64{0, 1}, []int32{0}, 2},
	} {
		values, labels := slices.Repeat([]float64{1}, len(c.column)), slices.Repeat([]float64{1}, c.labels)
		must.Err(engine.NewSparseRecords(c.start, c.column, values, labels, 4, b))(t, "%s was accepted", name)
	}
}
