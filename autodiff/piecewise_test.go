package autodiff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPiecewiseKnown(t *testing.T) {
	for _, c := range []struct {
		text  string
		knots []float64
		coefs [][]float64
		right []bool
		exact bool
	}{
		{"max(0, 1-u)", []float64{1}, [][]float64{{-1}, {0}}, []bool{true}, true},
		{"max(0, 1-u)^2", []float64{1}, [][]float64{{-2, 2}, {0}}, []bool{true}, true},
		{"(max(0, 1-u)^2 - max(0, -u)^2)/2", []float64{0, 1}, [][]float64{{-1}, {-1, 1}, {0}}, []bool{true, true}, true},
		{"max(0, 1-u) - max(0, -u)", []float64{0, 1}, [][]float64{{0}, {-1}, {0}}, []bool{true, true}, true},
		{"where(u > 1, 0, 1-u)", []float64{1}, [][]float64{{-1}, {0}}, []bool{true}, true},
		{"sqrt(u^2)", []float64{0}, [][]float64{{-1}, {1}}, []bool{true}, true},
		{"max(u - 1, 0) + max(1 - u, 0)", []float64{1}, [][]float64{{-1}, {1}}, []bool{true}, true},
		{"abs(abs(u) - 1)", []float64{-1, 0, 1}, [][]float64{{-1}, {1}, {-1}, {1}}, []bool{false, true, true}, true},
		{"(1-u)^2", nil, [][]float64{{-2, 2}}, nil, true},
		{"clamp(u, -1, 2)^3/3", []float64{-1, 2}, [][]float64{{0}, {0, 0, 1}, {0}}, nil, true},
		{"max(u, u^2)", []float64{0, 1}, [][]float64{{0, 2}, {1}, {0, 2}}, nil, true},
		{"max(0, 1 - 3*u)", []float64{1.0 / 3}, [][]float64{{-3}, {0}}, []bool{true}, false},
	} {
		p, ok := parsed(t, c.text).Derivative().Piecewise()
		if !ok || !slices.Equal(p.Knots, c.knots) || !slices.EqualFunc(p.Coefs, c.coefs, slices.Equal[[]float64]) || p.Exact != c.exact || c.right != nil && !slices.Equal(p.RightAt, c.right) {
			t.Errorf("%s: %v %+v", c.text, ok, p)
		}
	}
	for _, text := range []string{
		"exp(u)", "1/u", "max(1, u^2/2)*max(2, u^2)/(1+u^2)", "max(2*u, u^3/3)", // kinks at sqrt 2, sqrt 6
		"u^17*u", "sqrt(1 + u^2)", "u^0.5",
	} {
		if p, ok := parsed(t, text).Derivative().Piecewise(); ok {
			t.Errorf("%s: %+v", text, p)
		}
	}
	// A value at a knot that belongs to neither side.
	isolated := Add(Mul(Ge(U(), Const(1)), Const(2)), Mul(Ge(Const(1), U()), Const(3)))
	if p, ok := isolated.Piecewise(); ok {
		t.Errorf("an isolated value: %+v", p)
	}
}

// TestPiecewiseRandom compares with exact values, also at the knots.
func TestPiecewiseRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	found, knots := 0, 0
	for range 2000 {
		e := randomPolynomial(rng, 1+rng.IntN(4)).Derivative()
		p, ok := e.Piecewise()
		if !ok {
			continue
		}
		found++
		knots += len(p.Knots)
		points := []float64{-7, 0, 7, 4*rng.Float64() - 2}
		for _, k := range p.Knots {
			points = append(points, k-0x1p-40, k+0x1p-40)
			if p.Exact {
				points = append(points, k)
			}
		}
		for _, u := range points {
			want, _ := bigEval(e, u).Float64()
			scale := 1.0
			for _, row := range p.Coefs {
				for k, c := range row {
					scale += math.Abs(c) * math.Pow(math.Abs(u), float64(k))
				}
			}
			if got := p.Eval(u); math.Abs(got-want) > 1e-14*scale {
				t.Fatalf("%v at %v is %v, want %v\n%+v", e, u, got, want, p)
			}
		}
	}
	if found < 1000 || knots < 1000 {
		t.Errorf("%d found, with %d knots", found, knots)
	}
}

func randomPolynomial(rng *rand.Rand, depth int) Expr {
	if depth == 0 {
		if rng.IntN(2) == 0 {
			return Const(float64(rng.IntN(9)-4) / 4)
		}
		return U()
	}
	a, b := randomPolynomial(rng, depth-1), randomPolynomial(rng, depth-1)
	switch rng.IntN(8) {
	case 0:
		return Add(a, b)
	case 1:
		return Sub(a, b)
	case 2:
		return Max(a, b)
	case 3:
		return Min(a, b)
	case 4:
		return Abs(a)
	case 5:
		return Mul(a, Const(float64(rng.IntN(5))/2))
	case 6:
		return Where(Gt(U(), Const(float64(rng.IntN(5)-2))), a, b)
	}
	return Pow(a, 2)
}
