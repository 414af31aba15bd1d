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

// Product describes new features that are products of two features of x. For i < WidthA and j < WidthB, the new
// feature i*WidthB + j is Scale times x[A+i] times x[B+j].
type Product struct {
	A, WidthA, B, WidthB int
	Scale                float64
}

// Width returns the number of outputs.
func (p Product) Width() int { return p.WidthA * p.WidthB }

// write writes the products of x, multiplied by scale, to dst.
func (p Product) write(dst, x []float64, scale float64) {
	for i, u := range x[p.A:][:p.WidthA] {
		u *= scale
		for j, v := range x[p.B:][:p.WidthB] {
			dst[i*p.WidthB+j] = u * v
		}
	}
}

// Candidates are blocks of products from which a training chooses some by a private mechanism
// (docs/theory.md#pair-choice). All fields are public.
type Candidates struct {
	Choose   int       // number of Products that are added to the features; may be 0
	Ratio    float64   // factor of the features if products are added
	Plain    float64   // factor of the features if no products are added
	Products []Product // at least Choose products
}

// Dim returns the largest number of features after a choice, for d features before the choice.
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

// WithProducts returns the records with the blocks of products appended to their features. The features are multiplied
// by ratio, and each row is then projected to the norm bound. Each row is a function of one row of r and of the
// arguments, bit for bit.
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

// ResidualScores returns a score for each product: the norm of a sum, rounded down. Each record adds the vector
//
//	levels r psi, rounded toward 0 to integers,   r = 1/(1 + e^-(W.x~ + Intercept)) - t.
//
// Here levels is the argument, t and x~ are as in Query, and psi is the product's weight, from 0 to 1, times the
// vector u. If u is longer than 1, it is first scaled to norm 1. The vector u is the outer product of the features
// that the product selects from x~. Each feature is first multiplied by its number in the slice `by`. The term of a
// person is the mean over the rows of the person. Each term has norm at most levels. It is a function of one record
// and of the arguments, bit for bit, and the arguments are public or were released before. The sums are exact.
func (r *Records) ResidualScores(ctx context.Context, q Query, by []float64, products []Product, weights []float64,
	levels int) ([]int64, error) {
	if len(q.W) != r.d || len(by) != r.d || len(weights) != len(products) || q.Validate(r.d, r.bounds) != nil {
		return nil, errors.New("engine: ResidualScores: the query is invalid or a length is wrong; want len(W) = " +
			"len(by) = features, len(weights) = len(products)")
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
		own, term, block, x := make([]int64, len(sums)), make([]float64, len(sums)), make([]float64, widest),
			make([]float64, r.d)
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
		for j, v := range own { // integers: exact in any order
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

// residual returns the residual of a row with the label y in [-1, 1], and replaces the row x by x~.
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

// roundedTerm writes levels times v, rounded toward 0, to dst. If the norm of v exceeds 1, v is first scaled to
// norm 1, so the norm of the result is at most levels.
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
	for limit := int64(levels) * int64(levels); whole > limit; { // because of the last bit of by
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
