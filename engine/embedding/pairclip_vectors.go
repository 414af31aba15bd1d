package embedding

import (
	"math"

	"dyad/kernels"
)

// vectorFactors hold the numbers that determine the norm of a pair's term, for an MLP with at most one hidden
// layer. Let h be the input of the last layer W, D the slopes of the hidden layer, and x' the input of the
// hidden layer with a 1 appended. With g = W^T f,
//
//	||J^T a'||^2 = ||a'||^2 ||h||^2 + ||D W^T a'||^2 ||x'||^2.
//
// The product of two such vectors of records i and j is (a'.b')(h_i.h_j) + (D_i W^T a').(D_j W^T b') (x'_i.x'_j).
type vectorFactors struct {
	net    MLP
	output Output
	hidden int // units, 0 without
	d, in  int // of x', and of h

	x, h, slope, g []float64   // n rows
	size           [][]float64 // ||f||, ||W|| ||f||, ||h||^2, ||x'||^2, by of the stage
}

func newVectorFactors(net MLP, output Output, n int) vectorFactors {
	v := vectorFactors{net: net, output: output, in: net.lastInput()}
	if len(net.Hidden) == 1 {
		v.hidden, v.d = net.Hidden[0], net.In+1
	}
	v.x, v.h = make([]float64, n*v.d), make([]float64, n*v.in)
	v.slope, v.g = make([]float64, n*v.hidden), make([]float64, n*v.hidden)
	for range 5 {
		v.size = append(v.size, make([]float64, n))
	}
	return v
}

// set computes the factors of the records of the last embed of a block.
func (v *vectorFactors) set(p *modelPass, f []float64, from, count int) {
	mlp, m := p.Pass.(*mlpPass), v.net.Out
	last := len(mlp.weights) - 1
	outer := math.Sqrt(sumOfSquares(mlp.weights[last]))
	for i := range count {
		at, row := from+i, f[i*m:][:m]
		h := v.h[at*v.in:][:v.in]
		copy(h, mlp.in[last][i*v.in:])
		v.size[0][at], v.size[2][at], v.size[4][at] = math.Sqrt(sumOfSquares(row)), sumOfSquares(h), p.stage[i]
		if v.hidden == 0 {
			continue
		}
		x := v.x[at*v.d:][:v.d]
		copy(x, mlp.in[0][i*(v.d-1):][:v.d-1])
		x[v.d-1] = 1
		copy(v.slope[at*v.hidden:][:v.hidden], mlp.slope[0][i*v.hidden:])
		g := v.g[at*v.hidden:][:v.hidden]
		clear(g)
		for k, a := range row {
			for q, w := range mlp.weights[last][k*v.hidden:][:v.hidden] {
				g[q] += float64(a * w)
			}
		}
		v.size[1][at], v.size[3][at] = outer*v.size[0][at], sumOfSquares(x)
	}
}

// staged returns the coefficients p and q of alpha f_i + beta f_j after the output stage of record i, and a
// bound of the first coefficient before cancellation. The stage is (I - f_i f_i^T)/by for Output.Unit, and (I -
// f_i f_i^T/||f_i||^2)/by outside of the ball of Output.Within.
func (v *vectorFactors) staged(alpha, beta, u float64, i int) (p, q, most float64) {
	by := v.size[4][i]
	most = math.Abs(alpha)
	square := v.size[0][i] * v.size[0][i]
	switch {
	case v.output.Unit:
		most += most*square + math.Abs(beta*u)
		alpha -= alpha*square + beta*u
	case by != 1:
		most += most + math.Abs(beta*u)/square
		alpha = -beta * u / square
	}
	return alpha / by, beta / by, most / by
}

// length returns at least the norm of J_i^T P_i a + J_j^T P_j b, with a = alpha f_i + beta f_j and b = alpha f_j + beta
// f_i. Here beta is 1 if alpha = 0 and -alpha otherwise, and u is f_i.f_j. The computed sum of squares and products is
// raised by clipSlack times a bound of all its terms and of the terms of the sums g. This bound is the sum, over both
// records, of the squares of (|alpha| ||f_i|| + |beta| ||f_j||) ||h|| and of (|alpha| ||f_i|| + |beta| ||f_j||) ||W||
// ||x'||. It covers the second product because |D| <= 1. Each term has fewer than 2^14 roundings.
func (v *vectorFactors) length(fa, fb []float64, u, alpha float64, a, b int) float64 {
	beta := 1.0
	if alpha != 0 {
		beta = -alpha
	}
	p0, p1, most0 := v.staged(alpha, beta, u, a)
	q0, q1, most1 := v.staged(alpha, beta, u, b)
	var aa, bb, ab, dd, ee, de float64
	for k, x := range fa {
		y := fb[k]
		s, t := p0*x+p1*y, q0*y+q1*x
		aa, bb, ab = aa+s*s, bb+t*t, ab+s*t
	}
	ga, gb, da, db := v.g[a*v.hidden:][:v.hidden], v.g[b*v.hidden:][:v.hidden], v.slope[a*v.hidden:][:v.hidden],
		v.slope[b*v.hidden:][:v.hidden]
	for k, x := range ga {
		y := gb[k]
		s, t := (p0*x+p1*y)*da[k], (q0*y+q1*x)*db[k]
		dd, ee, de = dd+s*s, ee+t*t, de+s*t
	}
	square := aa*v.size[2][a] + bb*v.size[2][b] + 2*ab*dot(v.h[a*v.in:][:v.in], v.h[b*v.in:][:v.in])
	most := v.most(0, 2, most0, p1, a, b) + v.most(0, 2, most1, q1, b, a)
	if v.hidden > 0 {
		square += dd*v.size[3][a] + ee*v.size[3][b] + 2*de*dot(v.x[a*v.d:][:v.d], v.x[b*v.d:][:v.d])
		most += v.most(1, 3, most0, p1, a, b) + v.most(1, 3, most1, q1, b, a)
	}
	return math.Sqrt(max(0, square) + most*clipSlack)
}

// vectorTile adds the pairs i < j of a tile of rows of different records.
func (c *clippedPairs) vectorTile(sum []float64, _, i0, rows, j0, columns int) {
	v, m, limit := &c.vectors, c.dim, c.loss.PairClip*(1-0x1p-40)
	for a := i0; a < i0+rows; a++ {
		fa := c.f[a*m:][:m]
		for b := max(c.next[a], j0); b < j0+columns; b++ {
			fb := c.f[b*m:][:m]
			u := dot(fa, fb)
			coefficient, alpha := c.coefficient(fa, fb, u, a, b)
			if coefficient == 0 {
				continue
			}
			if length := math.Abs(coefficient) * v.length(fa, fb, u, alpha, a, b); length > limit {
				coefficient *= limit / length
			}
			if c.weight != nil {
				coefficient *= c.weight[a] * c.weight[b]
			}
			ra, rb := sum[a*m:][:m], sum[b*m:][:m]
			for k, x := range fa {
				y := fb[k]
				if alpha != 0 {
					d := coefficient * (x - y)
					ra[k] += d
					rb[k] -= d
				} else {
					ra[k] += coefficient * y
					rb[k] += coefficient * x
				}
			}
		}
	}
}

// most is (p s_i + |q| s_j)^2 t_i with the given sizes.
func (v *vectorFactors) most(s, t int, p, q float64, i, j int) float64 {
	sum := p*v.size[s][i] + math.Abs(q)*v.size[s][j]
	return sum * sum * v.size[t][i]
}

// coefficient returns c and alpha: a is c f' if alpha = 0, and c (f - f') if alpha = 1.
func (c *clippedPairs) coefficient(fa, fb []float64, u float64, a, b int) (float64, float64) {
	t := c.records.Label(a) * c.records.Label(b)
	switch l := c.loss.Pair.(type) {
	case Bilinear:
		return kernels.Clamp(l.Of.DPhi(t*u), c.slopes.SlopeMin, c.slopes.SlopeMax) * t, 0
	case Distance:
		return -2 * kernels.Clamp(l.Of.DPhi(t*(1-squaredDistance(fa, fb))), c.slopes.SlopeMin, c.slopes.SlopeMax) * t, 1
	case Contrastive:
		return l.Coefficient(squaredDistance(fa, fb), c.records.Label(a) == c.records.Label(b)), 1
	}
	return 0, 0
}
