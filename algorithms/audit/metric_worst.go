package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/engine"
)

// startLoss is a metric loss whose algorithms start at another matrix.
type startLoss struct {
	engine.MetricLoss
	start []float64
}

// Name returns the name of the loss, followed by "from the worst start".
func (l startLoss) Name() string { return l.MetricLoss.Name() + " from the worst start" }

// Domain returns the domain of the wrapped loss, with l.start in place of its starting point.
func (l startLoss) Domain(d int, radius float64) engine.Domain {
	return startDomain{l.MetricLoss.Domain(d, radius), l.start}
}

type startDomain struct {
	engine.Domain
	start []float64
}

// Start returns the other start.
func (d startDomain) Start() []float64 { return slices.Clone(d.start) }

// metricMove is a candidate for the largest move of the gradient of a pair by one replaced record. It holds
// a matrix, the other record of the pair, and the record before and after its replacement.
type metricMove struct {
	w       []float64
	other   engine.Record
	records [2]engine.Record
	moved   float64
}

// FromWorstStart returns the loss l with another start. A search finds a matrix at which one record moves the
// gradient of a pair most, and this matrix is the start. Guarantees hold for every start that does not depend
// on the data. The default start, a multiple of the identity, is harmless. The found matrix is moved slightly
// towards the default start, so that projections onto the domain do not remove part of the gradient's move.
// FromWorstStart supports only smooth losses. A loss with kinks would lose the form that backends need.
func FromWorstStart(l engine.MetricLoss, b engine.Bounds, d int, radius float64) (engine.Loss, error) {
	if c, err := l.Constants(b, radius); err != nil || math.IsInf(c.Smoothness, 0) {
		if err == nil {
			err = fmt.Errorf("audit: loss %s is not smooth, but a worst start needs a smooth loss; choose another "+
				"loss, or leave the worst start out", l.Name())
		}
		return nil, err
	}
	const inner = 0.02
	domain := l.Domain(d, radius)
	w := searchMetric(l, b, l.Domain(min(2, d), radius), nil).in(d).w
	for k, v := range domain.Start() {
		w[k] = (1-inner)*w[k] + inner*v
	}
	if err := domain.Project(w, radius*(1+0x1p-30)); err != nil {
		return nil, err
	}
	return startLoss{l, w}, nil
}

// searchMetric searches, by hill climbing, for a place with a large move among records of one or two features.
// The matrix is fixed; if fixed is nil, any matrix of the domain is tried. More features are not needed, since
// the two places of a record relative to another record span a plane. The result only chooses an attack and is
// not a bound.
//
// For the logistic loss with radius 1 the search finds 5.0130, which is the certificate except for the 0.5 % of the
// search. It finds this value at W = w w^T with w = (0.800, 0.600). The records are x' = (-0.994, 0.113) next to x =
// (0.994, 0.113) of the same label and (0.665, -0.747) of the other label, up to rotations.
func searchMetric(l engine.MetricLoss, b engine.Bounds, domain engine.Domain, fixed []float64) metricMove {
	const starts, steps = 12, 3000
	d := 2
	if len(fixed) == 1 || fixed == nil && len(domain.Start()) == 1 {
		d = 1
	}
	random := rand.New(rand.NewPCG(1, 2))
	best := metricMove{moved: -1}
	for i := range starts {
		m := metricMove{w: slices.Clone(fixed), other: engine.Record{X: make([]float64, d), Y: b.LabelAbs}}
		for side := range m.records {
			m.records[side] = engine.Record{X: make([]float64, d), Y: b.LabelAbs}
		}
		m.records[1].Y = -b.LabelAbs
		if i%4 == 3 {
			m.records[1].Y = b.LabelAbs
		}
		if fixed == nil {
			m.w = domain.Start()
		}
		m.jump(random, b, domain, fixed == nil, 1)
		m.measure(l)
		for step := range steps {
			next := m.clone()
			next.jump(random, b, domain, fixed == nil, 0.5*math.Pow(0.996, float64(step))+1e-4)
			if next.measure(l); next.moved > m.moved {
				m = next
			}
		}
		if m.moved > best.moved {
			best = m
		}
	}
	return best
}

func (m metricMove) clone() metricMove {
	m.w = slices.Clone(m.w)
	m.other.X = slices.Clone(m.other.X)
	for side := range m.records {
		m.records[side].X = slices.Clone(m.records[side].X)
	}
	return m
}

// jump moves the matrix and the records by about size.
func (m *metricMove) jump(random *rand.Rand, b engine.Bounds, domain engine.Domain, free bool, size float64) {
	for _, x := range [][]float64{m.other.X, m.records[0].X, m.records[1].X} {
		for k := range x {
			x[k] += size * b.FeatureNorm * random.NormFloat64()
		}
		engine.ProjectBall(x, b.FeatureNorm)
	}
	if !free {
		return
	}
	scale, norm := domain.Diameter()/2, 0.0
	for k := range m.w {
		m.w[k] += size * scale * random.NormFloat64()
		norm += m.w[k] * m.w[k]
	}
	// A matrix that cannot be projected is replaced by zero, which is also a valid place.
	_ = domain.Project(m.w, math.Sqrt(norm)*(1+0x1p-30))
}

// measure sets moved.
func (m *metricMove) measure(l engine.MetricLoss) {
	g, h := make([]float64, len(m.w)), make([]float64, len(m.w))
	l.AddGrad(g, m.w, m.records[0], m.other)
	l.AddGrad(h, m.w, m.records[1], m.other)
	m.moved = math.Sqrt(distance2(g, h))
}

// in returns the same place among records of d features.
func (m metricMove) in(d int) metricMove {
	m.w = resized(m.w, len(m.other.X), d)
	wide := func(x []float64) []float64 { return append(slices.Clone(x), make([]float64, d-len(x))...) }
	m.other.X = wide(m.other.X)
	for side := range m.records {
		m.records[side].X = wide(m.records[side].X)
	}
	return m
}

// resized returns the part of a matrix of `from` features that acts on the first `to` features, or a larger matrix
// that maps all other features to 0.
func resized(w []float64, from, to int) []float64 {
	was, is := engine.Symmetric{Dim: from}, engine.Symmetric{Dim: to}
	part := make([]float64, is.Len())
	for i := range min(from, to) {
		for j := i; j < min(from, to); j++ {
			part[is.Index(i, j)] = w[was.Index(i, j)]
		}
	}
	return part
}

// targets returns data sets in which every pair of the replaced record has this move.
func (m metricMove) targets(n int, b engine.Bounds) ([]Target, error) {
	d := len(m.other.X)
	var sides [2]*engine.Records
	for side, z := range m.records {
		x, y := make([]float64, n*d), make([]float64, n)
		for i := range y {
			copy(x[i*d:], z.X)
			y[i], z = z.Y, m.other
		}
		var err error
		if sides[side], err = engine.AdoptRecords(x, y, d, b); err != nil {
			return nil, err
		}
	}
	return []Target{{Data: sides[0], Neighbour: sides[1],
		Instance: "record 0 is replaced; a search found the start of the model"}}, nil
}
