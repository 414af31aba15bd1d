package engine

import (
	"context"
	"errors"
	"math"
	"math/big"
	"runtime"
	"slices"
	"sync"

	"dyad/internal/tasks"
)

// Product is a block of products of a record's features: output i*WidthB + j is Scale x[A+i] x[B+j], for i < WidthA and j < WidthB.
type Product struct {
	A, WidthA, B, WidthB int
	Scale                float64
}

// Width is the number of outputs.
func (p Product) Width() int { return p.WidthA * p.WidthB }

// write writes the block of x with a scale.
func (p Product) write(dst, x []float64, scale float64) {
	for i, u := range x[p.A:][:p.WidthA] {
		u *= scale
		for j, v := range x[p.B:][:p.WidthB] {
			dst[i*p.WidthB+j] = u * v
		}
	}
}

// Candidates are blocks of products. A training chooses some of them in private (docs/theory.md#pair-choice). All of it is public.
type Candidates struct {
	Choose   int       // how many of Products join the features; 0: none
	Ratio    float64   // by which features are multiplied where products join them
	Plain    float64   // the same where none do
	Products []Product // at least Choose
}

// ChoosePairs is the problem with a choice of so many among the products of any two features.
func (p Problem) ChoosePairs(choose int) Problem {
	p.Candidates = Candidates{Choose: choose, Ratio: 1, Plain: 1}
	for b := range p.D {
		for a := range b {
			p.Candidates.Products = append(p.Candidates.Products, Product{A: a, WidthA: 1, B: b, WidthB: 1, Scale: 1})
		}
	}
	return p
}

// Dim is the largest number of features after a choice, of d before.
func (c Candidates) Dim(d int) int {
	var widths []int
	for _, p := range c.Products {
		widths = append(widths, p.Width())
	}
	slices.Sort(widths)
	for _, w := range widths[max(0, len(widths)-c.Choose):] {
		d += w
	}
	return d
}

// Holder is an Evaluator of one process that has all records.
type Holder interface {
	Evaluator
	Held() *Records
}

// WithProducts are the records with the blocks behind their features, which are multiplied by ratio; rows are then projected to the norm
// bound. Each row is a function of one row of r and of these numbers, bit for bit.
func (r *Records) WithProducts(ratio float64, products []Product) (*Records, error) {
	d := r.d
	for _, p := range products {
		d += p.Width()
	}
	all := make([]float64, r.n*d)
	eachRow(r.n, func(i int) {
		row := all[i*d:][:d]
		r.Row(i, row[:r.d])
		at := r.d
		for _, p := range products {
			p.write(row[at:], row, p.Scale)
			at += p.Width()
		}
		for k := range row[:r.d] {
			row[k] *= ratio
		}
	})
	out, err := AdoptRecords(all, slices.Clone(r.y), d, r.bounds)
	if err != nil {
		return nil, err
	}
	return out.PersonsOf(r)
}

// ResidualScores are, for each product, the norm of the sum over records of
//
//	levels r psi, rounded toward 0 to integers,   r = 1/(1 + e^-(W.x~ + Intercept)) - t,
//
// rounded down, with t and x~ as in Query and psi = weight clip(u, 1), u the outer product of the features of x~ that the product names, each
// times its number in by. Weights are 0 to 1. The terms of a person are means over its rows. Each term is a function of one record and of
// these numbers, which are public or were released, bit for bit, and has norm at most levels; sums are exact.
func (r *Records) ResidualScores(ctx context.Context, q Query, by []float64, products []Product, weights []float64, levels int) ([]int64, error) {
	if len(q.W) != r.d || len(by) != r.d || len(weights) != len(products) || q.Validate(r.d, r.bounds) != nil {
		return nil, errors.New("engine: ResidualScores: want a query with W and a number for each feature of the records, and a weight for each product")
	}
	first, widest := make([]int, len(products)+1), 0
	for k, p := range products {
		widest = max(widest, p.Width())
		first[k+1] = first[k] + p.Width()
	}
	sums := make([]int64, first[len(products)])
	const piece = 1 << 10 // records
	units := r.Units()
	var lock sync.Mutex
	err := tasks.Each(ctx, runtime.GOMAXPROCS(0), (units+piece-1)/piece, func(_, job int) {
		own, term, block, x := make([]int64, len(sums)), make([]float64, len(sums)), make([]float64, widest), make([]float64, r.d)
		rounded := make([]int64, widest)
		for unit := job * piece; unit < min(units, (job+1)*piece); unit++ {
			from, to := r.UnitRows(unit)
			clear(term)
			for row := from; row < to; row++ {
				r.Row(row, x)
				residual := q.residual(x, r.y[row]/r.bounds.LabelAbs) / float64(to-from)
				for k, b := range by {
					x[k] *= b
				}
				for k, p := range products {
					u := block[:p.Width()]
					p.write(u, x, 1)
					square := 0.0
					for _, v := range u {
						square += v * v
					}
					scale := weights[k] * residual / max(1, math.Sqrt(square))
					for j, v := range u {
						term[first[k]+j] += scale * v
					}
				}
			}
			for k := range products {
				for j, v := range roundedTerm(rounded, term[first[k]:first[k+1]], levels) {
					own[first[k]+j] += v
				}
			}
		}
		lock.Lock()
		defer lock.Unlock()
		for j, v := range own { // integers: in any order
			sums[j] += v
		}
	})
	scores := make([]int64, len(products))
	for k := range products {
		square, v := new(big.Int), new(big.Int)
		for _, x := range sums[first[k]:first[k+1]] {
			v.SetInt64(x)
			square.Add(square, v.Mul(v, v))
		}
		scores[k] = square.Sqrt(square).Int64()
	}
	return scores, err
}

// residual returns the residual of a row with the label y, in [-1, 1]; the row becomes x~.
func (q *Query) residual(x []float64, y float64) float64 {
	var square, score float64
	for k := range x {
		if q.Centre != nil {
			x[k] -= q.Centre[k]
		}
		square += x[k] * x[k]
	}
	shrink := 1.0
	if length := math.Sqrt(square); length > q.Radius {
		shrink = q.Radius / length
	}
	for k := range x {
		x[k] *= shrink
		score += x[k] * q.W[k]
	}
	return 1/(1+math.Exp(-(score+q.Intercept))) - (1+y)/2
}

// roundedTerm writes levels times v, of norm at most levels, rounded toward 0; what is longer is shortened first.
func roundedTerm(dst []int64, v []float64, levels int) []int64 {
	dst = dst[:len(v)]
	by, square := float64(levels), 0.0
	for _, x := range v {
		square += x * x
	}
	if square > 1 {
		by /= math.Sqrt(square)
	}
	var whole int64
	for k, x := range v {
		dst[k] = int64(x * by)
		whole += dst[k] * dst[k]
	}
	for limit := int64(levels) * int64(levels); whole > limit; { // by the last bit of by
		k := 0
		for j, x := range dst {
			if max(x, -x) > max(dst[k], -dst[k]) {
				k = j
			}
		}
		whole -= dst[k] * dst[k]
		if dst[k] > 0 {
			dst[k]--
		} else {
			dst[k]++
		}
		whole += dst[k] * dst[k]
	}
	return dst
}
