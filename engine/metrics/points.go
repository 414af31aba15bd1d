package metrics

import (
	"errors"
	"math"

	"dyad/engine"
)

// points holds labelled rows.
type points struct {
	n, d   int
	dense  []float64 // row-major matrix, nil if only row is set
	row    func(i int, dst []float64)
	labels []float64
	norm   float64 // bound on the Euclidean norms
	// unit is the record or person of each row, and mostRows is the largest number of rows of a unit. Both are
	// set by unitPoints.
	unit     []int32
	mostRows int
}

func recordPoints(r *engine.Records) points {
	return points{n: r.Len(), d: r.Dim(), dense: r.Dense(), row: r.Row, labels: r.Labels(), norm: r.Bounds().FeatureNorm}
}

// unitPoints returns the points of records whose rows are excluded from their own neighbours.
func unitPoints(r *engine.Records) points {
	p := recordPoints(r)
	for k := range r.Units() {
		from, to := r.UnitRows(k)
		for range to - from {
			p.unit = append(p.unit, int32(k))
		}
		p.mostRows = max(p.mostRows, to-from)
	}
	return p
}

// space maps points to rows, whose Euclidean distances are compared.
type space struct {
	factor *MetricFactor // nil for the identity
	width  int
	reach  float64 // bound on distances
}

// newSpace checks that squared distances of points with norms a and b neither overflow nor all underflow.
func newSpace(metric []float64, d int, a, b float64) (space, error) {
	s, norm := space{width: d}, 1.0
	if metric != nil {
		f, err := FactorMetric(metric, d)
		if err != nil {
			return space{}, err
		}
		s, norm = space{factor: &f, width: f.Rank}, f.Norm
	}
	reach := math.Sqrt(norm) * (a + b)
	if reach > 0x1p500 || norm > 0 && reach < 0x1p-480 {
		return space{}, errors.New("metrics: squared distances are outside the range of float64; rescale the metric " +
			"or the features")
	}
	s.reach = reach
	return s, nil
}

// load returns the rows [lo, hi) of p, mapped to s. It returns a part of p.dense if possible. Otherwise it uses
// buffer, which must have at least (hi-lo) width entries.
func (s space) load(p points, lo, hi int, buffer, scratch []float64) []float64 {
	if s.factor == nil && p.dense != nil {
		return p.dense[lo*s.width : hi*s.width]
	}
	out := buffer[:(hi-lo)*s.width]
	for i := lo; i < hi; i++ {
		dst := out[(i-lo)*s.width : (i-lo+1)*s.width]
		switch {
		case s.factor == nil:
			p.row(i, dst)
		case p.dense != nil:
			s.factor.apply(dst, p.dense[i*p.d:(i+1)*p.d])
		default:
			p.row(i, scratch)
			s.factor.apply(dst, scratch)
		}
	}
	return out
}

// squaredDistance returns sum_k (a[k] - b[k])^2 of two rows of equal length if it is below limit. Otherwise it
// returns false as soon as a partial sum is at least limit. All terms are at least 0 and rounding is monotone,
// so no partial sum exceeds the final sum. Each term has at most three roundings and takes part in at most n/4
// + 5 additions, so the relative error is below gamma(n/4 + 9). The result does not depend on the order of the
// two rows.
func squaredDistance(a, b []float64, limit float64) (float64, bool) {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	for len(a) >= 8 && len(b) >= 8 {
		d0, d1, d2, d3 := a[0]-b[0], a[1]-b[1], a[2]-b[2], a[3]-b[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		d0, d1, d2, d3 = a[4]-b[4], a[5]-b[5], a[6]-b[6], a[7]-b[7]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		if (s0+s1)+(s2+s3) >= limit {
			return 0, false
		}
		a, b = a[8:], b[8:]
	}
	for k, v := range a {
		d := v - b[k]
		s0 += d * d
	}
	sum := (s0 + s1) + (s2 + s3)
	return sum, sum < limit
}
