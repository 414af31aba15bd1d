package engine

import "math"

// metricDiameter bounds the replace-one diameter Dg of a Mahalanobis loss whose phi is
// smooth, convex and nonincreasing, in units of 4 R^2. It returns D with
//
//	||grad l(W; z, z') - grad l(W; z~, z')||_F <= 4 R^2 D.
//
// D is +Inf if the slopes are too large or small for float64.
//
// slope(x) is an upper bound of sup {-t phi'(-t x) : 0 < t <= q} that is nondecreasing in
// x. A is at least 4 R^2 ||W||_F. M = v^T W v is at least -s.
//
// Theorem (docs/theory.md#metric-diameter). With a, b in [-pi/2, pi/2] and o in
// [0, pi/2], D is the maximum of || c1 p p^T + c2 r r^T ||_F over
//
//	p = cos a (cos a, sin a),   c1 = slope(A (p.e)^2 - 1),
//	r = cos b (cos b, sin b),   c2 = slope(1 - A (r.e)^2),    e = (cos o, sin o),
//
// where |p|^2 and |r|^2 are at most 1.
//
// To bound the maximum, the cube of (a, b, o) is cut into boxes. On each box every cosine
// is replaced by its bounds on the box. This bounds the norm, since the norm increases
// with c1, c2 and every |cosine|. Boxes whose bound is within diameterTolerance of the
// best value found are not cut further, so the result exceeds the maximum by at most
// diameterTolerance. It exceeds the maximum by more only if diameterBoxes are used up.
// This happens for A far above 1, where the trivial bound P + N is equally good. Any set
// of boxes that covers the cube gives a bound.
func metricDiameter(slope func(x float64) float64, A, s float64) float64 {
	m := diameterSearch{slope: slope, A: A, s: s}
	m.best = max(slope(A+2*s-1), slope(1+s)) // P: a = o = 0; N: b = 0, o = pi/2
	if !(m.best >= 0x1p-900 && m.best < math.Inf(1)) {
		return math.Inf(1) // relative errors of subnormal numbers have no bound
	}
	boxes := []diameterBox{{lo: [3]float64{-math.Pi / 2, -math.Pi / 2, 0},
		hi: [3]float64{math.Pi / 2, math.Pi / 2, math.Pi / 2}}}
	// The float64 number for pi/2 is below pi/2 by 6e-17. cosSquared has room for this difference.
	bound := m.best
	for used := 0; len(boxes) > 0; {
		var next []diameterBox
		for i, box := range boxes {
			switch v := m.value(box); {
			case v <= m.best*(1+diameterTolerance):
				bound = max(bound, v)
				continue
			case used >= diameterBoxes:
				for _, rest := range boxes[i:] {
					bound = max(bound, m.value(rest))
				}
				for _, rest := range next {
					bound = max(bound, m.value(rest))
				}
				return bound * (1 + 0x1p-40)
			}
			left, right := box.split()
			next = append(next, left, right)
			m.best = max(m.best, m.value(left.middle()), m.value(right.middle()))
			used += 4
		}
		boxes = next
	}
	return bound * (1 + 0x1p-40) // the rounding of value, some twenty operations
}

const (
	diameterTolerance = 0.005
	diameterBoxes     = 1 << 19 // largest number of evaluations, which take about 0.1 s
)

type diameterSearch struct {
	slope      func(x float64) float64
	A, s, best float64
}

// diameterBox is a box of angles a, b and o.
type diameterBox struct{ lo, hi [3]float64 }

// split cuts the box into halves across its longest side.
func (b diameterBox) split() (left, right diameterBox) {
	k := 0
	for i := range b.lo {
		if b.hi[i]-b.lo[i] > b.hi[k]-b.lo[k] {
			k = i
		}
	}
	left, right = b, b
	left.hi[k] = (b.lo[k] + b.hi[k]) / 2
	right.lo[k] = left.hi[k]
	return left, right
}

func (b diameterBox) middle() diameterBox {
	for i := range b.lo {
		b.lo[i] = (b.lo[i] + b.hi[i]) / 2
		b.hi[i] = b.lo[i]
	}
	return b
}

// value returns an upper bound of the norm on a box. If the box is a point, the bound is the
// norm itself, up to s and the slack of cosSquared.
func (m diameterSearch) value(x diameterBox) float64 {
	_, p := cosSquared(x.lo[0], x.hi[0]) // |p|^2
	rLo, r := cosSquared(x.lo[1], x.hi[1])
	_, pe := cosSquared(x.lo[0]-x.hi[2], x.hi[0]-x.lo[2])
	reLo, _ := cosSquared(x.lo[1]-x.hi[2], x.hi[1]-x.lo[2])
	_, pr := cosSquared(x.lo[0]-x.hi[1], x.hi[0]-x.lo[1])
	near := m.slope(m.A*p*pe-1+2*m.s) * p
	far := m.slope(1+m.s-m.A*(1-0x1p-29)*rLo*reLo) * r
	large := max(near, far)
	if large == 0 {
		return 0
	}
	share := min(near, far) / large // squares of slopes below 2^-500 would underflow
	return large * math.Sqrt(1+share*(share+2*pr))
}

// cosSquared returns bounds of cos^2 on [lo, hi].
func cosSquared(lo, hi float64) (least, most float64) {
	const slack = 0x1p-49 // covers the errors of cosines and angles, with room
	a, b := math.Cos(lo), math.Cos(hi)
	least, most = min(a*a, b*b), max(a*a, b*b)
	for k := math.Ceil(lo / (math.Pi / 2)); k <= math.Floor(hi/(math.Pi/2)); k++ {
		if math.Mod(k, 2) == 0 {
			most = 1
		} else {
			least = 0
		}
	}
	return max(0, least-slack), min(1, most+slack)
}

// slopeReach is the slope function of metricDiameter, h(x) = sup {-t phi'(-t x) : 0 < t <= q}.
// The Scalar is smooth, convex and nonincreasing on the margins of a problem. slopeReach holds
// bounds of h at finitely many x.
type slopeReach struct {
	top          float64   // |x| <= top
	below, above []float64 // h at -top (k/slopeCells)^2 and at top (k/slopeCells)^2
}

const slopeCells = 256

// newSlopeReach bounds h for x in [-top, top]. Margins are in [-reach, reach]. No pair
// has a larger value of t |x|, and phi need not be convex for larger values.
//
// For x < 0 let u = -t x. Then h(x) is the supremum of u (-phi'(u)) over u <= q |x|,
// divided by |x|. For x >= 0, -phi'(-t x) increases with t. If phi' is only within slack of
// a nondecreasing function, the statements for x < 0 and x >= 0 hold up to 2 slack, and so
// does the monotonicity of h.
func newSlopeReach(of Scalar, q, top, reach, slack float64) (*slopeReach, error) {
	r := &slopeReach{top: top, below: make([]float64, slopeCells+1), above: make([]float64, slopeCells+1)}
	falling := func(from, to float64) (float64, error) {
		b, err := of.Bounds(from-math.Abs(from)*0x1p-50, to+math.Abs(to)*0x1p-50)
		return b.falling(), err
	}
	var most, u float64
	for k := range r.above {
		x, from := r.node(k), u
		u = min(q*x, reach)
		v, err := falling(-u, -u)
		if err != nil {
			return nil, err
		}
		r.above[k] = mulUp(q, (v+2*slack)*(1+0x1p-52))
		if v, err = falling(from, u); err != nil {
			return nil, err
		}
		most = max(most, u*v)
		r.below[k] = r.above[0]
		if k > 0 {
			r.below[k] = min(r.below[0], (most/x+2*q*slack)*(1+0x1p-50))
		}
	}
	return r, nil
}

// node returns |x| for entry k.
func (r *slopeReach) node(k int) float64 {
	f := float64(k) / slopeCells
	return r.top * (f * f)
}

// slope returns a bound of h at the smallest of the finitely many numbers that is at least
// x. It bounds h(x), because h is nondecreasing.
func (r *slopeReach) slope(x float64) float64 {
	k := int(slopeCells * min(1, math.Sqrt(math.Abs(x)/r.top))) // up to one too large or small
	if x <= 0 {
		for k > 0 && r.node(k) > -x {
			k--
		}
		return r.below[k]
	}
	for k < slopeCells && r.node(k) < x {
		k++
	}
	return r.above[k]
}
