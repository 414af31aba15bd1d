package metrics

import (
	"context"

	"dyad/kernels"
)

// squaredNorms sets dst to the squared norms of the rows.
func (q *search) squaredNorms(dst, rows []float64) {
	w := q.width
	for i := range dst {
		x := rows[i*w : (i+1)*w]
		dst[i] = q.set.Dot(x, x)
	}
}

// scanBlock offers the training rows of indices [from, to), with their squared norms, to
// the neighbours of the test rows [lo, hi).
func (q *search) scanBlock(ctx context.Context, rows, norms []float64, from, to, lo, hi int, best []neighbour) error {
	return q.forEach(ctx, (hi-lo+testTile-1)/testTile, func() func(int) {
		s := scan{
			search: q, products: make([]float64, tileRows*testTile),
			norms: make([]float64, testTile), least: make([]float64, testTile),
		}
		scratch := make([]float64, q.test.d)
		buffer := make([]float64, q.bufferLen(q.test, testTile))
		return func(job int) {
			a := lo + job*testTile
			b := min(a+testTile, hi)
			s.x, s.best, s.skip = q.load(q.test, a, b, buffer, scratch), best[(a-lo)*q.k:(b-lo)*q.k], -1
			if q.leaveOneOut {
				s.skip = a
			}
			s.start(b - a)
			for first := from; first < to && ctx.Err() == nil; first += tileRows {
				last := min(first+tileRows, to)
				s.tile(rows[(first-from)*q.width:(last-from)*q.width], norms[first-from:last-from], first)
			}
		}
	})
}

// scan looks for the neighbours of one tile of test rows. It computes the inner
// products c of all pairs and looks only at pairs that can be nearer than the K-th
// neighbour so far: with squared norms s and t, D the exact squared distance,
// D' = s + t - 2 c and L the distance of the K-th neighbour, a pair is left out if
//
//	c < h + g,  h = ((1-e) s - (1+e) L)/2 - tiny,  g = (1-e) t/2,  e = 16 (depth + 16) u
//
// where depth bounds that of the products and of a squaredDistance.
//
// Claim. Then squaredDistance is at least L, so every pair that squaredDistance would
// accept is looked at, and the result is that of looking at all pairs.
//
// Proof. s, t and c have errors of at most gamma(depth) times s, t and (s+t)/2, and
// h + g has five roundings of terms of at most s + t + 2 L (the last
// terms exceed s + t only if h + g is far below every c, by |c| <= (s+t)/2). So c < h + g implies
// D > (1+e) L + e (s+t) - 2 gamma(depth+8) (s+t) - 8 u L > (1 + e/2) L, and the squared distance
// computed is at least D (1 - gamma(depth)) >= L. tiny covers underflow: newSpace keeps
// squared norms below 2^1000, and width times 2^-1074 is far below 2^-1000. QED
type scan struct {
	*search
	x    []float64 // test rows
	best []neighbour
	skip int // the training row of the first test row, -1 if there is none

	products []float64 // tileRows x testTile
	norms    []float64 // s
	least    []float64 // h
	slack    float64   // e
}

// start prepares n test rows.
func (s *scan) start(n int) {
	depth := kernels.AddProductsDepth(s.width) + kernels.DotDepth(s.width)
	s.slack = 16 * float64(depth+16) * 0x1p-53
	s.norms, s.least = s.norms[:n], s.least[:n]
	s.squaredNorms(s.norms, s.x)
	for i := range s.least {
		s.limit(i)
	}
}

// limit sets h of a test row.
func (s *scan) limit(i int) {
	s.least[i] = ((1-s.slack)*s.norms[i]-(1+s.slack)*s.best[(i+1)*s.k-1].distance)/2 - 0x1p-1000
}

// tile offers training rows, from the index first on.
func (s *scan) tile(rows, norms []float64, first int) {
	n, m, w := len(s.least), len(norms), s.width
	products := s.products[:m*n]
	clear(products)
	s.set.AddProducts(products, n, rows, s.x, m, n, w)
	for j, t := range norms {
		g := (1 - s.slack) * t / 2
		c := products[j*n:][:n]
		for i, h := range s.least[:len(c)] {
			if c[i] < h+g || s.skip >= 0 && s.train.unit[first+j] == s.train.unit[s.skip+i] {
				continue
			}
			best := s.best[i*s.k : (i+1)*s.k]
			if d, nearer := squaredDistance(s.x[i*w:(i+1)*w], rows[j*w:(j+1)*w], best[len(best)-1].distance); nearer {
				insert(best, neighbour{d, first + j})
				s.limit(i)
			}
		}
	}
}

// insert adds a neighbour nearer than the last one, after those of the same distance.
func insert(best []neighbour, n neighbour) {
	at := len(best) - 1
	for at > 0 && best[at-1].distance > n.distance {
		best[at] = best[at-1]
		at--
	}
	best[at] = n
}
