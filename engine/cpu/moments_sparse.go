package cpu

import (
	"context"
	"math"

	"dyad/engine"
)

// Full second moments of wide sparse records are computed as sums over the stored features. A clipped record is x~ = s
// (x - c) *exactly*, for the centre c and the number s <= 1 that clipScale computes from x, c and R alone, so that
//
//	sum a x~ = sum a s x - (sum a s) c,   sum x~ x~^T = G - b c^T - c b^T + S c c^T,   G = sum s^2 x x^T, b = sum s^2 x, S = sum s^2,
//
// and every entry of G is summed over the records in their order, by one worker.
const (
	leastWide  = 513     // least number of features for which these sums are used
	wideChunk  = 1 << 14 // records that are summed before the sum is added to the total
	wideRounds = 16      // roundings of a term and of the combination with the centre, at most

	leastWideRadius = 0x1p-10 // least radius, relative to the norm bound
)

// isWide reports whether full second moments of the problem's records are sums over the stored features. This needs a
// single process, at least the given number of features, and few stored features.
func (k *momentsKernel) isWide(least int) bool {
	p := k.problem
	return p.D >= least && p.NonZerosPerRow > 0 && 4*p.NonZerosPerRow <= p.D && !p.ByPerson()
}

// sumsWide reports whether moments may be computed as sums over the stored features. The radius must not be much below
// the norm bound B of records, because the error is relative to n B^2.
func (k *momentsKernel) sumsWide(radius float64, second engine.SecondMoments) bool {
	return k.wide && second == engine.FullSecond && radius >= k.problem.Bounds.FeatureNorm*leastWideRadius
}

// wideDepth returns a bound of the depth of every sum over the records.
func (k *momentsKernel) wideDepth() int {
	return min(k.problem.N, wideChunk) + (k.problem.N+wideChunk-1)/wideChunk + wideRounds
}

// wideError returns Bounds for sums over the stored features (docs/theory.md#wide-moments).
//
// Proof. Let B bound the norms of records and of the centre; the norm of the centre may exceed the bound by
// RadiusSlack. The terms of each sum are products with at most wideRounds roundings. wideDepth counts these roundings
// and the additions. For the absolute values, the vector of |a| s |x_j| + |a| s |c_j| has a norm of at most 2 B, since
// s <= 1. The matrix of s^2 (|x_j| + |c_j|)(|x_k| + |c_k|) has a norm of at most (2 B)^2. The sums b and S are
// multiplied by c, and their errors are within the same absolute values. The depth of each of these sums is one chunk
// and one more. Off-diagonal entries are multiplied by a rounded sqrt 2, and this error is relative to at most the same
// values. Each product that underflows loses 2^-1074, and an entry and record have at most 4 such products.
func (k *momentsKernel) wideError() engine.QueryBounds {
	n, d, bound := float64(k.problem.N), float64(k.problem.D), 2*k.problem.Bounds.FeatureNorm*(1+engine.RadiusSlack)
	gamma, lost := engine.Gamma(k.wideDepth()), 4*n*0x1p-1074*(1+bound)*(1+bound)
	const up = 1 + 0x1p-40
	return engine.QueryBounds{
		Positives: gamma * n * up,
		Sum:       (gamma*n*bound + lost*d) * up,
		Second:    ((gamma+2*engine.SymmetricError)*n*bound*bound + lost*d*d) * up,
	}
}

// wideRecords holds numbers computed from each record.
type wideRecords struct {
	signed []float64 // a s
	square []float64 // s^2
}

// clipScale returns s <= 1 with s ||x - c|| <= R. It computes s from the squared norm of c and the stored features
// of x.
//
// Proof. Let u = 2^-53, and let B bound ||x|| and ||c||. The computed q is ||x - c||^2 up to E/2. The squares of c, and
// the products x_j (x_j - 2 c_j) with at most three roundings, are summed in a depth of d plus the number of stored
// features. Their absolute values add up to at most (||x|| + ||c||)^2 <= 4 B^2. So the error is at most (d + stored +
// 8) u (1 + 2^-20) 4 B^2, and E = (d + stored + 24) 2^-50 B^2 is more than twice as much. As q <= 5 B^2, E/2 >= u (q +
// E), so that r = fl(q + E) >= ||x - c||^2. short <= R (1 - 2^-50)(1 + u). If r <= fl(short^2), then r <= R^2.
// Otherwise s = fl(short/fl(sqrt r)) <= R (1 - 8 u)(1 + u)^4/sqrt r <= R/sqrt r. QED
func clipScale(value []float64, index []int32, centre []float64, centreSquare, bound, radius float64) float64 {
	q := centreSquare
	for k, j := range index {
		x := value[k]
		q += float64(x * (x - 2*centre[j]))
	}
	r := max(q, 0) + float64(len(centre)+len(index)+24)*0x1p-50*bound*bound
	short := radius * (1 - 0x1p-50)
	if r <= short*short {
		return 1
	}
	return min(short/math.Sqrt(r), 1)
}

// sumWide is Sum for FullSecond of wide sparse records. The bits of the result do not depend on the number of workers.
func (e *momentsEvaluator) sumWide(ctx context.Context, dst engine.Moments, m engine.Query) error {
	d, n := e.problem.D, e.problem.N
	centre := m.Centre
	if centre == nil {
		centre = make([]float64, d)
	}
	var centreSquare float64
	for _, c := range centre {
		centreSquare += float64(c * c)
	}
	all := wideRecords{make([]float64, n), make([]float64, n)}
	var positives, signed, squares chunkSum
	for i, y := range e.y {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		from, to := e.x.start[i], e.x.start[i+1]
		s := clipScale(e.x.value[from:to], e.x.index[from:to], centre, centreSquare, e.problem.Bounds.FeatureNorm, m.Radius)
		y /= e.problem.Bounds.LabelAbs
		a := 1.0
		if m.Signed {
			a = (y - m.Offset) / (1 + math.Abs(m.Offset)) // |a| <= 1, as in add
		}
		all.signed[i], all.square[i] = a*s, s*s
		positives.add(i, (1+y)/2)
		signed.add(i, all.signed[i])
		squares.add(i, all.square[i])
	}
	dst.All[0] = positives.value()
	S, A := squares.value(), signed.value()

	full := engine.Symmetric{Dim: d}
	clear(dst.Sum)
	clear(dst.Second)
	total := wideTotals{sum: dst.Sum, first: make([]float64, d), second: dst.Second}
	chunk := total
	if n > wideChunk {
		chunk = wideTotals{make([]float64, d), make([]float64, d), make([]float64, len(dst.Second))}
	}
	workers := max(e.workers, 1)
	if err := forEach(ctx, workers, workers, func(_, worker int) {
		for from := 0; from < n; from += wideChunk {
			if !e.addWide(ctx, chunk, all, from, min(from+wideChunk, n), worker, workers) {
				return
			}
			for i := worker; n > wideChunk && i < d; i += workers {
				for _, v := range [][2][]float64{{total.sum[i : i+1], chunk.sum[i : i+1]},
					{total.first[i : i+1], chunk.first[i : i+1]}, {total.row(full, i), chunk.row(full, i)}} {
					addTo(v[0], v[1])
					clear(v[1])
				}
			}
		}
	}); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return forEach(ctx, workers, workers, func(_, worker int) {
		for i := worker; i < d; i += workers {
			total.sum[i] -= float64(A * centre[i])
			b, c, row := total.first[i], centre[i], total.row(full, i)
			for k := range row {
				j := i + k
				v := row[k] - float64(b*centre[j]) - float64(c*total.first[j]) + float64(S*c*centre[j])
				if k > 0 {
					v *= math.Sqrt2
				}
				row[k] = v
			}
		}
	})
}

// wideTotals holds the sums before the centre is subtracted.
type wideTotals struct{ sum, first, second []float64 }

// row returns row i of the upper triangle, beginning with the diagonal entry.
func (t wideTotals) row(s engine.Symmetric, i int) []float64 {
	return t.second[s.Index(i, i):][:s.Dim-i]
}

// addWide adds the records in [from, to) to the rows of the matrix that belong to a worker. It returns false when
// ctx is done.
func (e *momentsEvaluator) addWide(ctx context.Context, t wideTotals, all wideRecords,
	from, to, worker, workers int) bool {
	full := engine.Symmetric{Dim: e.problem.D}
	for i := from; i < to; i++ {
		if i%4096 == 0 && ctx.Err() != nil {
			return false
		}
		index, value := e.x.index[e.x.start[i]:e.x.start[i+1]], e.x.value[e.x.start[i]:e.x.start[i+1]]
		for k, j := range index {
			if int(j)%workers != worker {
				continue
			}
			t.sum[j] += float64(all.signed[i] * value[k])
			u := all.square[i] * value[k]
			t.first[j] += u
			row := t.row(full, int(j))
			for l, at := range index[k:] {
				row[at-j] += float64(u * value[k+l])
			}
		}
	}
	return true
}

// chunkSum sums numbers in chunks of wideChunk, in the same way as the vectors are summed.
type chunkSum struct{ total, chunk float64 }

// add adds number i.
func (c *chunkSum) add(i int, v float64) {
	if i%wideChunk == 0 {
		c.total += c.chunk
		c.chunk = 0
	}
	c.chunk += v
}

func (c *chunkSum) value() float64 { return c.total + c.chunk }
