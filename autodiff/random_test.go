package autodiff

import "math/rand/v2"

// randomExpr is a random expression of about the given depth, smooth or with
// kinks and jumps.
func randomExpr(rng *rand.Rand, depth int, smooth bool) Expr {
	if depth == 0 {
		switch rng.IntN(3) {
		case 0:
			return Const([]float64{0, 1, -1, 2, 0.5, 0.1, -0.3, 3}[rng.IntN(8)])
		case 1:
			return Mul(Const(4*rng.Float64()-2), U())
		}
		return U()
	}
	sub := func() Expr { return randomExpr(rng, depth-1, smooth) }
	if !smooth {
		switch rng.IntN(6) {
		case 0:
			return Max(sub(), sub())
		case 1:
			return Min(sub(), sub())
		case 2:
			return Abs(sub())
		case 3:
			return Where(Gt(U(), Const(2*rng.Float64()-1)), sub(), sub())
		case 4:
			return Mul(Ge(sub(), sub()), sub())
		}
	}
	switch rng.IntN(20) {
	case 0:
		return Exp(Neg(Square(sub())))
	case 1:
		return Log(Add(Const(1.5), Square(sub())))
	case 2:
		return Tanh(sub())
	case 3:
		return Sigmoid(sub())
	case 4:
		return Softplus(sub())
	case 5:
		return Sqrt(Add(Const(1), Square(sub())))
	case 6:
		return Square(sub())
	case 7:
		return Sin(sub())
	case 8:
		return Cos(sub())
	case 9:
		return Div(sub(), Add(Const(1), Square(sub())))
	case 10:
		return Pow(Add(Const(2), Square(sub())), []float64{1.5, -0.5, 3, -2}[rng.IntN(4)])
	case 11:
		return Sub(sub(), sub())
	case 12:
		return Mul(sub(), sub())
	case 13:
		return Exp(sub())
	case 14:
		return Log1p(Square(sub()))
	case 15:
		return Atan(sub())
	case 16:
		return Erf(sub())
	case 17:
		return NormCDF(sub())
	case 18:
		return LogNormCDF(sub())
	}
	return Add(sub(), sub())
}

// randomTies is a random expression in which several kinks lie at one place and branches
// meet.
func randomTies(rng *rand.Rand, depth int) Expr {
	sub := func() Expr { return randomExpr(rng, depth, false) }
	at := Sub(U(), Const([]float64{0, 0.3, 1}[rng.IntN(3)]))
	v, l := sub(), Sub(sub(), at)
	return Add(Add(Abs(at), Mul(Max(Const(0), at), sub())), Where(Gt(l, Const(0)), Add(v, Mul(sub(), l)), Sub(v, Mul(sub(), l))))
}
