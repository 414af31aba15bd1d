package engine

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// TowardZero returns x rounded toward zero to float32: the float32 number closest to x
// whose magnitude is at most |x|. x must not be NaN.
func TowardZero(x float64) float32 {
	f := float32(x)
	if math.Abs(float64(f)) > math.Abs(x) {
		f = math.Nextafter32(f, 0)
	}
	return f
}

// AdoptNarrowRecords is AdoptRecords for features in float32. If withinBall does not prove that
// the norm of a row is at most R, the row is projected in float64, and each coordinate is then
// rounded toward zero. A row that has already been projected and rounded in this way is left
// unchanged.
//
// Proof that ||x|| <= R. For the rows that are left unchanged, withinBall proves it. For any other row,
// ProjectBall returns a vector of norm at most R, and rounding does not increase the magnitude of a
// coordinate. withinBall and ProjectBall are functions of one row alone
// (docs/theory.md#stored-records). QED
func AdoptNarrowRecords(x []float32, y []float64, d int, b Bounds) (*Records, error) {
	if err := checkShape(len(y), d, b); err != nil {
		return nil, err
	}
	if len(x) != len(y)*d {
		return nil, fmt.Errorf("engine: AdoptNarrowRecords: %d feature values for %d records of %d features, want %d", len(x),
			len(y), d, len(y)*d)
	}
	r := &Records{n: len(y), d: d, bounds: b, y: y, narrow: x}
	eachRow(r.n, func(i int) {
		row := x[i*d : (i+1)*d]
		if withinBall(row, b.FeatureNorm) {
			return
		}
		wide := make([]float64, d)
		for k, v := range row {
			wide[k] = float64(v)
		}
		ProjectBall(wide, b.FeatureNorm)
		for k, v := range wide {
			row[k] = TowardZero(v)
		}
	})
	clampLabels(y, b.LabelAbs)
	return r, nil
}

// HeldRecords is like StoredRecords, but x and y are in memory and not in a mapped file. The
// result owns x and y. Subsets of the records copy the features.
func HeldRecords(x, y []float64, d int, b Bounds) (*Records, error) {
	r, err := StoredRecords(x, y, d, b)
	if err == nil {
		r.stored = false
	}
	return r, err
}

// WithoutLabels returns the records with labels 0.
func (r *Records) WithoutLabels() *Records {
	out := *r
	out.y = make([]float64, r.n)
	return &out
}

// ErrStored is wrapped by the error about stored records that are not within their bounds.
var ErrStored = errors.New("records outside their bounds")

// StoredRecords returns records whose features x and labels y are in a mapped file. The caller
// must neither change nor unmap the file while the records are in use. StoredRecords does not
// project. It returns an error wrapping ErrStored if the norm of a row may exceed R, or if a
// label is not a number in [-LabelAbs, LabelAbs]. It accepts all rows that NewRecords or
// AdoptNarrowRecords returned.
func StoredRecords[T float32 | float64](x []T, y []float64, d int, b Bounds) (*Records, error) {
	if err := checkShape(len(y), d, b); err != nil {
		return nil, err
	}
	if len(x) != len(y)*d {
		return nil, fmt.Errorf("engine: StoredRecords: %d feature values for %d records of %d features, want %d", len(x),
			len(y), d, len(y)*d)
	}
	var bad atomic.Bool
	eachRow(len(y), func(i int) {
		if !(math.Abs(y[i]) <= b.LabelAbs) || !withinBall(x[i*d:(i+1)*d], b.FeatureNorm) {
			bad.Store(true)
		}
	})
	if bad.Load() {
		return nil, fmt.Errorf("engine: %w: the norm of a row may be above %g, or the size of a label is above %g", ErrStored,
			b.FeatureNorm, b.LabelAbs)
	}
	r := &Records{n: len(y), d: d, bounds: b, y: y, stored: true}
	switch x := any(x).(type) {
	case []float32:
		r.narrow = x
	case []float64:
		r.dense = x
	}
	return r, nil
}

// withinBall returns true only if the exact norm of x is at most R. It returns true for every result
// of ProjectBall, even if the result was rounded toward zero. It returns false if a value is not
// finite, or if R is outside 2^-400 to 2^500.
//
// Proof. Let m = len(x) and u = 2^-53, and let S be the exact and s the computed sum of squares. A term has
// one rounding and takes part in at most m/2 + 1 additions of numbers >= 0. So S (1 - (m/2 + 2) u) - t <= s
// <= S (1 + (m/2 + 3) u), where t is lost in squares that underflow, and t <= m 2^-1074 < m u R^2 2^-200.
// The limit is R^2 (1 - (m+8) u) within 4 u of it. So s <= limit gives S (1 - (m/2 + 2) u) <= R^2 (1 -
// (m+3) u), and S <= R^2. In ProjectBall the exact norm is at most the computed one times 1 + (m/2 + 3) u,
// and the norm of a scaled row has a relative error of at most 5 u more. For unchanged and for scaled rows,
// sqrt(S) <= R (1 - 2(m+8) u)(1 + (m/2 + 8) u) <= R (1 - (3m/2 + 8) u), hence s <= R^2 (1 - (5m/2 + 12) u),
// which is within the limit. Rounding toward zero makes S smaller. QED
func withinBall[T float32 | float64](x []T, R float64) bool {
	if R < 0x1p-400 || R > 0x1p500 {
		return false
	}
	limit := R * R * (1 - float64(len(x)+8)*0x1p-53)
	var s0, s1 float64
	for len(x) >= 2 {
		a, b := float64(x[0]), float64(x[1])
		s0 += a * a
		s1 += b * b
		x = x[2:]
	}
	for _, v := range x {
		s0 += float64(v) * float64(v)
	}
	return s0+s1 <= limit
}
