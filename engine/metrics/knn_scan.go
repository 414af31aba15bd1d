package metrics

import (
	"context"
	"math"

	"dyad/internal/tasks"
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

// trainBlock is a run of consecutive training rows with their squared norms. For scans in float32, it also has
// the rows that scan.tile32 reads.
type trainBlock struct {
	first       int
	rows, norms []float64
	single      []float32 // nil if there are no scans in float32
}

// scanBlock updates the neighbours of the test rows [lo, hi) by the training rows of b.
func (q *search) scanBlock(ctx context.Context, b trainBlock, lo, hi int, best []neighbour) error {
	return q.forEach(ctx, (hi-lo+testTile-1)/testTile, func() func(int) {
		s := scan{
			search: q, norms: make([]float64, testTile), least: make([]float64, testTile),
		}
		if b.single != nil {
			s.panels = make([]float32, (q.width+2)*testTile)
			s.products32 = make([]float32, tileRows*kernels.PanelCols32)
		}
		scratch := make([]float64, q.test.d)
		buffer := make([]float64, q.bufferLen(q.test, testTile))
		return func(job int) {
			from := lo + job*testTile
			end := min(from+testTile, hi)
			s.x, s.best, s.skip = q.load(q.test, from, end, buffer, scratch), best[(from-lo)*q.k:(end-lo)*q.k], -1
			if q.leaveOneOut {
				s.skip = from
			}
			s.start(end - from)
			for at := 0; at < len(b.norms) && ctx.Err() == nil; at += tileRows {
				s.tile(b, at, min(at+tileRows, len(b.norms)))
			}
		}
	})
}

// slack32 returns e32 of scan if float32 can hold the squared norms and its kernels are faster; otherwise it returns 0.
func slack32(s space, set *kernels.Set) float64 {
	if set.Variant() == kernels.Generic || s.reach >= 0x1p50 || s.width > 1<<16 {
		return 0
	}
	return 4 * float64(s.width+16) * 0x1p-24
}

// toSingle sets the rows of b.single: the features, -g32 and -1.
func (q *search) toSingle(b trainBlock) {
	if b.single == nil {
		return
	}
	w := q.width
	for j, norm := range b.norms {
		to := b.single[j*(w+2):][:w+2]
		for l, v := range b.rows[j*w:][:w] {
			to[l] = float32(v)
		}
		to[w], to[w+1] = -roundDown((1-q.slack32)*norm/2), -1
	}
}

// roundDown returns the largest float32 that is at most v.
func roundDown(v float64) float32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// scan finds the neighbours of one tile of test rows. It computes the inner products c of all pairs and
// examines only pairs that can be nearer than the K-th neighbour found so far. Let s and t be the squared
// norms, D the exact squared distance, D' = s + t - 2 c, and L the distance of the K-th neighbour. A pair is
// skipped if
//
//	c < h + g,  h = ((1-e) s - (1+e) L)/2 - tiny,  g = (1-e) t/2,  e = 16 (depth + 16) u
//
// where depth is a bound on the depth of the products and of a squaredDistance.
//
// Claim. For a skipped pair, squaredDistance is at least L. So every pair that squaredDistance would accept is
// examined, and the result is the same as if all pairs were examined.
//
// Proof. The numbers s, t and c have errors of at most gamma(depth) times s, t and (s+t)/2. The sum h + g has
// five roundings of terms of at most s + t + 2 L. (The last terms exceed s + t only if h + g is far below every
// c, by |c| <= (s+t)/2.) So c < h + g implies D > (1+e) L + e (s+t) - 2 gamma(depth+8) (s+t) - 8 u L > (1 +
// e/2) L, and the squared distance computed is at least D (1 - gamma(depth)) >= L. tiny covers underflow:
// newSpace keeps squared norms below 2^1000, and width times 2^-1074 is far below 2^-1000. QED
//
// In float32, which needs half the work, c - g - h is one sum of products of width + 2 numbers. The factors are
// the rows rounded to float32, together with g and h rounded down and -1. Here e is e32 = 4 (width + 16) v, v =
// 2^-24, and tiny is 2^-120. A pair is skipped if the sum has a negative sign.
//
// Proof. Let c32 be the exact product of the rounded rows. The error of the sum is at most (width + 4) v (1 + 2^-7)
// (|c32| + g + |h|). Here |c32| <= (1+v)^2 (s+t)/2, g <= t/2 and |h| <= (s + (1+e) L)/2 + tiny, and |c - c32| <= 2.1 v
// (s+t)/2. Therefore a negative sign implies c < h + g + 1.05 (width + 10) v (s + t + L), up to underflow. Doubling
// both sides gives D > (1+e) L + e (s+t) - 2.1 (width + 10) v (s + t + L) - gamma(depth+8) (s+t+L) > (1 + e/4) L, as e
// > 3 (width + 10) v and the roundings of float64 are below v. Underflow of a row, g, h or a product changes the sum
// by less than 2^-148 each. All such changes together are less than (3 width + 8) 2^-148 (1 + reach) <= 2^-127 (1 +
// 2^50) for the largest width of slack32, if they are not below v (s+t). The reason is that a feature that underflows
// has an error of 2^-150, which is multiplied by another feature of at most sqrt(s+t). Then either 2^-150 width
// sqrt(s+t) is at most v (s+t), or s+t is below 2^-220 and the whole change is below tiny. Nothing overflows, as
// squared norms are below 2^100; L = +Inf makes the sum +Inf. QED
type scan struct {
	*search
	x    []float64 // the test rows
	best []neighbour
	skip int // index of the first test row among the training rows; -1 if the test rows are not training rows

	products []float64 // inner products, tileRows x testTile, allocated when needed
	norms    []float64 // squared norms s
	least    []float64 // limits h
	slack    float64   // number e

	panels     []float32 // panels of PanelCols32 test rows each: the features, 1 and h; nil for scans in float64
	products32 []float32 // inner products in float32, tileRows x PanelCols32
	wide       int       // number of next tiles to scan in float64, because float32 excluded too few pairs
}

// start prepares a scan of n test rows.
func (s *scan) start(n int) {
	depth := kernels.AddProductsDepth(s.width) + kernels.DotDepth(s.width)
	s.slack = 16 * float64(depth+16) * 0x1p-53
	s.norms, s.least, s.wide = s.norms[:n], s.least[:n], 0
	s.squaredNorms(s.norms, s.x)
	if s.panels != nil {
		clear(s.panels)
		for i := range testTile {
			to := s.column(i)
			// makes the sum negative if there is no row
			to[s.width*kernels.PanelCols32], to[(s.width+1)*kernels.PanelCols32] = 1, 1
			if i < n {
				for l, v := range s.x[i*s.width:][:s.width] {
					to[l*kernels.PanelCols32] = float32(v)
				}
			}
		}
	}
	for i := range s.least {
		s.limit(i)
	}
}

// column returns the column of test row i in its panel, with stride PanelCols32.
func (s *scan) column(i int) []float32 {
	return s.panels[i/kernels.PanelCols32*kernels.PanelCols32*(s.width+2)+i%kernels.PanelCols32:]
}

// limit updates h of a test row.
func (s *scan) limit(i int) {
	far := s.best[(i+1)*s.k-1].distance
	s.least[i] = ((1-s.slack)*s.norms[i]-(1+s.slack)*far)/2 - 0x1p-1000
	if s.panels != nil {
		e := s.slack32
		s.column(i)[(s.width+1)*kernels.PanelCols32] = roundDown(((1-e)*s.norms[i]-(1+e)*far)/2 - 0x1p-120)
	}
}

// tile scans the rows [from, to) of a block.
func (s *scan) tile(b trainBlock, from, to int) {
	w, first := s.width, b.first+from
	rows, norms := b.rows[from*w:to*w], b.norms[from:to]
	if s.panels != nil && s.wide == 0 && s.full() {
		s.tile32(b.single[from*(w+2):to*(w+2)], rows, len(norms), first)
		return
	}
	s.wide = max(0, s.wide-1)
	n, m := len(s.least), len(norms)
	if s.products == nil {
		s.products = make([]float64, tileRows*testTile)
	}
	products := s.products[:m*n]
	clear(products)
	s.set.AddProducts(products, n, rows, s.x, m, n, w)
	for j, t := range norms {
		g := (1 - s.slack) * t / 2
		c := products[j*n:][:n]
		for i, h := range s.least[:len(c)] {
			if c[i] >= h+g {
				s.offer(i, first+j, rows[j*w:][:w])
			}
		}
	}
}

// full reports whether every test row has K neighbours. Before that, the sums of a tile exclude no pair.
func (s *scan) full() bool {
	for i := range s.least {
		if math.IsInf(s.best[(i+1)*s.k-1].distance, 1) {
			return false
		}
	}
	return true
}

// tile32 is the float32 version of tile, for m rows. If more than one pair in 16 passes the test and is not
// nearer, the next 8 tiles are scanned in float64.
func (s *scan) tile32(single []float32, rows []float64, m, first int) {
	const cols = kernels.PanelCols32
	w, useless := s.width, 0
	for from := 0; from < len(s.least); from += cols {
		products := s.products32[:m*cols]
		s.set.PanelProducts32(products, single, s.panels[from*(w+2):][:cols*(w+2)], m, w+2)
		for j := range m {
			sums := products[j*cols:][:cols]
			if kernels.AllNegative(sums) {
				continue
			}
			for i, sum := range sums {
				if !math.Signbit(float64(sum)) && !s.offer(from+i, first+j, rows[j*w:][:w]) {
					useless++
				}
			}
		}
	}
	if useless > m*len(s.least)/16 {
		s.wide = 8
	}
}

// offer computes the distance of test row i and a training row and updates the neighbours. It reports whether
// the training row is a new neighbour.
func (s *scan) offer(i, train int, row []float64) (nearer bool) {
	if s.skip >= 0 && s.train.unit[train] == s.train.unit[s.skip+i] {
		return false
	}
	best := s.best[i*s.k : (i+1)*s.k]
	d, nearer := squaredDistance(s.x[i*s.width:(i+1)*s.width], row, best[len(best)-1].distance)
	if nearer {
		insert(best, neighbour{d, train})
		s.limit(i)
	}
	return nearer
}

// insert adds a neighbour that is nearer than the last one. It comes after neighbours at the same distance.
func insert(best []neighbour, n neighbour) {
	at := len(best) - 1
	for at > 0 && best[at-1].distance > n.distance {
		best[at] = best[at-1]
		at--
	}
	best[at] = n
}

const (
	blockBytes = 1 << 26                 // bytes of a block of training rows, and of the neighbour lists
	tileRows   = 256                     // number of training rows in a tile of inner products
	testTile   = 6 * kernels.PanelCols32 // number of test rows of a job
)

// neighbour is a training record and its squared distance.
type neighbour struct {
	distance float64
	index    int
}

// search is one classification. Test rows are split into blocks whose lists of neighbours fit into blockBytes,
// and training rows into blocks that fit into blockBytes. A job compares a tile of test rows with one training
// block. Each test row meets the training rows in ascending order for any division into jobs, so results do not
// depend on the jobs.
type search struct {
	space
	set         *kernels.Set
	slack32     float64 // number e32 of scan; 0 if there are no scans in float32
	train, test points
	k           int
	leaveOneOut bool
	workers     int
	predicted   []float64

	trainBlock, testBlock int // number of rows of a block
}

// bufferLen returns the length of the buffer that load needs.
func (s space) bufferLen(p points, rows int) int {
	if s.factor == nil && p.dense != nil {
		return 0
	}
	return rows * s.width
}

// forEach runs the jobs on the workers and returns ctx.Err(). Each worker calls start to obtain its own job
// function.
func (q *search) forEach(ctx context.Context, jobs int, start func() func(job int)) error {
	work := make([]func(job int), q.workers)
	return tasks.Each(ctx, q.workers, jobs, func(worker, job int) {
		if work[worker] == nil {
			work[worker] = start()
		}
		work[worker](job)
	})
}
