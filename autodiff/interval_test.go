package autodiff

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// holds reports whether the interval contains x.
func (a Interval) holds(x *big.Float) bool {
	if !math.IsInf(a.Lo, 0) && bigOf(a.Lo).Cmp(x) > 0 {
		return false
	}
	return math.IsInf(a.Hi, 0) || bigOf(a.Hi).Cmp(x) >= 0
}

// randomFloat has a random exponent, or is a small integer.
func randomFloat(rng *rand.Rand, spread int) float64 {
	if rng.IntN(8) == 0 {
		return float64(rng.IntN(9) - 4)
	}
	return math.Ldexp(2*rng.Float64()-1, rng.IntN(2*spread+1)-spread)
}

func randomInterval(rng *rand.Rand, spread int) Interval {
	a, b := randomFloat(rng, spread), randomFloat(rng, spread)
	switch rng.IntN(4) {
	case 0:
		b = a
	case 1:
		b = a + math.Abs(a)*rng.Float64()*1e-6
	}
	return Interval{math.Min(a, b), math.Max(a, b)}
}

// random is a random point of a, often an end.
func (a Interval) random(rng *rand.Rand) float64 {
	switch rng.IntN(4) {
	case 0:
		return a.Lo
	case 1:
		return a.Hi
	}
	t := rng.Float64()
	return math.Min(a.Hi, math.Max(a.Lo, a.Lo*(1-t)+a.Hi*t))
}

var arithmetic = []struct {
	name     string
	o        op
	interval func(a, b Interval) Interval
}{
	{"add", opAdd, Interval.add},
	{"sub", opSub, Interval.sub},
	{"mul", opMul, Interval.mul},
	{"div", opDiv, Interval.div},
	{"max", opMax, Interval.max},
	{"min", opMin, Interval.min},
}

// TestArithmeticContains: exact results of random points are in the result, also
// under overflow and underflow; the same operations rounded to nearest fail.
func TestArithmeticContains(t *testing.T) {
	for _, a := range arithmetic {
		if n := escapes(a.o, a.interval, 6000); n > 0 {
			t.Errorf("%s: %d results outside the interval", a.name, n)
		}
	}
	nearest := map[op]func(a, b Interval) Interval{
		opAdd: func(a, b Interval) Interval { return Interval{a.Lo + b.Lo, a.Hi + b.Hi} },
		opSub: func(a, b Interval) Interval { return Interval{a.Lo - b.Hi, a.Hi - b.Lo} },
		opMul: func(a, b Interval) Interval {
			p, q, r, s := a.Lo*b.Lo, a.Lo*b.Hi, a.Hi*b.Lo, a.Hi*b.Hi
			return Interval{min(p, q, r, s), max(p, q, r, s)}
		},
	}
	for o, f := range nearest {
		if escapes(o, f, 6000) == 0 {
			t.Errorf("%s rounded to nearest is not caught", opNames[o])
		}
	}
}

func escapes(o op, f func(a, b Interval) Interval, n int) int {
	rng := rand.New(rand.NewPCG(1, uint64(o)))
	bad := 0
	for k := range n {
		spread := []int{3, 60, 1020}[k%3]
		a, b := randomInterval(rng, spread), randomInterval(rng, spread)
		r := f(a, b)
		x, y := a.random(rng), b.random(rng)
		want := bigBinary(o, bigOf(x), bigOf(y))
		if want != nil && !r.undefined() && !r.holds(want) {
			bad++
		}
	}
	return bad
}

// TestExactArithmetic: results that are float64 are not widened, so that
// knots and constants stay sharp.
func TestExactArithmetic(t *testing.T) {
	for _, c := range []struct{ got, want Interval }{
		{Point(0.5).add(Point(0.25)), Point(0.75)},
		{Point(3).mul(Interval{-1, 2}), Interval{-3, 6}},
		{Point(1).div(Point(4)), Point(0.25)},
		{Point(9).sqrt(), Point(3)},
		{Interval{-3, 2}.square(), Interval{0, 9}},
		{Interval{-3, 2}.pow(3), Interval{-27, 8}},
		{Interval{-3, 2}.abs(), Interval{0, 3}},
		{whole.mul(zero), zero},
		{Interval{1, inf}.mul(Point(-2)), Interval{-inf, -2}},
		{Interval{0, 1}.cos(), Interval{Interval{0, 1}.cos().Lo, 1}},
		{Interval{-20, 20}.sin(), Interval{-1, 1}},
	} {
		must.Equal(t, c.got, c.want, "got")
	}
	for name, a := range map[string]Interval{
		"1/[-1,1]":    Point(1).div(Interval{-1, 1}),
		"1/[0,1]":     Point(1).div(Interval{0, 1}),
		"log [0,1]":   Interval{0, 1}.log(),
		"log1p [-1]":  Point(-1).log1p(),
		"sqrt [-1,1]": Interval{-1, 1}.sqrt(),
		"hull":        hull(undef, whole),
		"max":         undef.max(whole),
		"square":      undef.square(),
		"tanh":        undef.tanh(),
	} {
		if !a.undefined() {
			t.Errorf("%s is %v, want undefined", name, a)
		}
	}
	must.Equal(t, Div(Const(1), U()).Bounds(Interval{-1, 1}), whole, "1/u on [-1, 1] is in")
}

var unaryRanges = []struct {
	o      op
	lo, hi float64
	f      func(Interval) Interval
}{
	{opExp, -800, 720, Interval.exp},
	{opLog, 0, 1e300, Interval.log},
	{opLog1p, -0.999, 1e10, Interval.log1p},
	{opExpm1, -50, 700, Interval.expm1},
	{opTanh, -30, 30, Interval.tanh},
	{opSigmoid, -760, 760, Interval.sigmoid},
	{opSoftplus, -740, 800, Interval.softplus},
	{opSqrt, 0, 1e300, Interval.sqrt},
	{opSquare, -1e10, 1e10, Interval.square},
	{opSin, -1e6, 1e6, Interval.sin},
	{opCos, -1e6, 1e6, Interval.cos},
	{opAtan, -1e6, 1e6, Interval.atan},
	{opErf, -7, 7, Interval.erf},
	{opNormCDF, -30, 9, Interval.normCDF},
	{opLogNormCDF, -300, 9, Interval.logNormCDF},
	{opHazard, -300, 9, Interval.hazard},
}

// randomBetween favours small numbers, where relative errors are hard.
func randomBetween(rng *rand.Rand, lo, hi float64) float64 {
	for {
		x := lo + (hi-lo)*rng.Float64()
		if rng.IntN(2) == 0 {
			x = randomFloat(rng, 40)
		}
		if lo < x && x < hi {
			return x
		}
	}
}

// TestLibraryAllowance: the interval functions contain exact values, and the
// library's largest error is at most half of what is allowed, which a hundredth
// of the allowance would not cover.
func TestLibraryAllowance(t *testing.T) {
	sizes.NotShort(t, "slow")
	n := sizes.Of(80, 600)
	largest := 0.0
	for _, c := range unaryRanges {
		rng := rand.New(rand.NewPCG(2, uint64(c.o)))
		worst := 0.0
		for range n {
			a, b := randomBetween(rng, c.lo, c.hi), randomBetween(rng, c.lo, c.hi)
			if rng.IntN(2) == 0 {
				b = a
			}
			on := Interval{min(a, b), max(a, b)}
			x := on.random(rng)
			want := bigUnary(c.o, bigOf(x), 0)
			if got := c.f(on); got.undefined() || !got.holds(want) {
				t.Fatalf("%s%v = %v does not contain the value at %v, %v", opNames[c.o], on, got, x, want)
			}
			v := evalUnary(c.o, x, 0)
			exact, _ := want.Float64()
			if math.IsInf(v, 0) || math.Abs(exact) < 0x1p-1000 {
				continue
			}
			diff, _ := bigSub(bigOf(v), want).Float64()
			switch c.o {
			case opSin, opCos:
				worst = math.Max(worst, math.Abs(diff)/trigError)
			case opLogNormCDF: // proved, so all of it may be used
				worst = math.Max(worst, math.Abs(diff)/(2*logNormCDFError*math.Abs(exact)+2*logNormCDFTiny))
			case opHazard:
				worst = math.Max(worst, math.Abs(diff)/(2*hazardError*exact+2*hazardTiny))
			case opNormCDF:
				relative, _ := ownNormCDF(Point(x))
				worst = math.Max(worst, math.Abs(diff/exact)/(2*relative)) // proved, so all of it may be used
			default:
				worst = math.Max(worst, math.Abs(diff/exact)/libraryError)
			}
		}
		must.Within(t, worst, 0, 0.5, "%s: largest error ... of the allowance", opNames[c.o])
		largest = math.Max(largest, worst)
	}
	if largest < 0.01 {
		t.Errorf("largest error %v of the allowance: the comparison sees nothing", largest)
	}
}

// TestAngles checks the allowance of math.Atan2, on which the complex logarithm
// rests: sin(t) x - cos(t) y is the distance times the sine of the error.
func TestAngles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		x, y := randomFloat(rng, 30), randomFloat(rng, 30)
		if x == 0 && y == 0 {
			continue
		}
		angle := math.Atan2(y, x)
		sin, cos := bigSinCos(bigOf(angle))
		cross, _ := bigSub(bigMul(sin, bigOf(x)), bigMul(cos, bigOf(y))).Float64()
		if math.Abs(cross)/math.Hypot(x, y) > libraryError/2*math.Abs(angle)+libraryTiny {
			t.Fatalf("Atan2(%v, %v) = %v is off by %v", y, x, angle, cross/math.Hypot(x, y))
		}
	}
}

func TestPowContains(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []float64{0.5, 1.5, -0.7, 3, 4, -2, 65, 2.25, 0.1} {
		for range 60 {
			a, b := 20*rng.Float64(), 20*rng.Float64()
			if c == math.Trunc(c) && c > 0 && c < 65 {
				a, b = a-10, b-10
			}
			on := Interval{min(a, b), max(a, b)}
			x := on.random(rng)
			if got, want := on.pow(c), bigPow(bigOf(x), c); !got.holds(want) {
				t.Fatalf("%v^%v = %v does not contain %v^%v = %v", on, c, got, x, c, want)
			}
		}
	}
}
