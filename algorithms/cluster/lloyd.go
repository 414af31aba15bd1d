package cluster

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/privacy"
)

// Job returns the job of the clustering for algorithms.Execute. rows returns the mapped records as a
// row-major matrix, Records x Dim. Row i must be a function of record i and of public or released numbers
// alone, bit for bit. rows is called after the charge, and its errors must not depend on joint properties
// of the records. Read decodes Result.Weights.
func (p *Plan) Job(rows func(context.Context) ([]float64, error)) algorithms.Job {
	return algorithms.Job{
		Plan:      &p.Plan,
		Withholds: true, // released numbers leave the closure as its result only
		Train: func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
			mapped, err := rows(ctx)
			if err != nil {
				return nil, err
			}
			if len(mapped) != p.Options.Records*p.Options.Dim {
				return nil, fmt.Errorf("cluster: the records have %d numbers, but the plan needs %d records of %d "+
					"numbers", len(mapped), p.Options.Records, p.Options.Dim)
			}
			return p.run(ctx, mapped, s, t)
		},
	}
}

// Clusters holds the result of a clustering, which is post-processing of its releases.
type Clusters struct {
	Counts     []float64   // noisy number of records of each cluster, at least 0
	CountNoise float64     // standard deviation of the noise of a count
	Centres    [][]float64 // the k centres, in the coordinates of mapped records
}

// Read returns the clusters from the result of a job.
func (p *Plan) Read(weights []float64) (Clusters, error) {
	k, r := p.Options.Clusters, p.Options.Dim
	if len(weights) != k*(1+r)+1 || !(weights[0] >= 1) {
		return Clusters{}, fmt.Errorf("cluster: the %d numbers do not fit a plan of %d clusters with %d coordinates",
			len(weights), k, r)
	}
	c := Clusters{CountNoise: p.CountNoise / math.Sqrt(weights[0]), Counts: slices.Clone(weights[1:][:k])}
	for j := range k {
		c.Centres = append(c.Centres, slices.Clone(weights[1+k+j*r:][:r]))
	}
	return c, nil
}

// run makes the rounds. The first half of the rounds has more centres than were asked for, if noise allows
// (Plan.Seeds). The centres are computed from the mean of the releases of the second half, without releases made
// before a centre was started again. The result holds the number of releases in this mean, the numbers of records, and
// the centres.
func (p *Plan) run(ctx context.Context, rows []float64, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	o, q := p.Options, make([]int32, len(rows))
	for i := 0; i < len(rows); i += o.Dim {
		wholeRow(q[i:i+o.Dim], rows[i:i+o.Dim], o.Radius)
	}
	rng := rand.New(rand.NewPCG(o.Seed, 27))
	centres := first(rng, max(p.Seeds, o.Clusters), o.Dim)
	var mean, counts []float64
	averaged, again := 0, false // number of releases in the mean; whether a centre was started again after the last round
	for round := range o.Rounds {
		v, err := sums(ctx, q, centres, o.Dim)
		if err != nil {
			return nil, err
		}
		if err := s.Release(v, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		if averaged++; round <= o.Rounds/2 || again {
			mean, averaged = v, 1
		}
		for i := range mean {
			mean[i] += (v[i] - mean[i]) / float64(averaged)
		}
		var held []int
		counts, held = p.update(centres, mean, averaged)
		switch again = len(held) < len(centres); {
		case p.Seeds > 0 && round == o.Rounds/2-1:
			centres = reduce(rng, centres, counts, held, o.Clusters)
		case round < o.Rounds-1:
			restart(rng, centres, counts, held)
		}
		t.Step(round+1, o.Rounds)
	}
	result := append([]float64{float64(averaged)}, counts...)
	for _, c := range centres {
		for _, v := range c {
			result = append(result, v*o.Radius)
		}
	}
	return result, nil
}

// wholeRow rounds a mapped record x to an integer vector q of norm at most levels, in units of radius/levels
// (docs/theory.md#cluster-sums). The result is a function of x alone, is defined for all inputs, and is checked
// without rounding errors.
func wholeRow(q []int32, x []float64, radius float64) {
	norm := 0.0
	for _, v := range x {
		norm = math.Hypot(norm, v/radius)
	}
	if !(norm < math.MaxFloat64) { // infinite or not a number
		clear(q)
		return
	}
	for scale := levels / max(norm, 1); ; scale *= 1 - 0x1p-30 {
		var square int64
		for j, v := range x { // |v/radius| scale is at most about levels
			q[j] = int32(min(max(v/radius*scale, -levels), levels)) // toward zero
			square += int64(q[j]) * int64(q[j])                     // at most maxDim levels^2 = 2^62
		}
		if square <= levels*levels {
			return
		}
	}
}

// sums returns levels times the number of records of each cluster, followed by the sums of the clusters. The
// values are integers of at most 2^52, so float64 holds them exactly.
func sums(ctx context.Context, q []int32, centres [][]float64, r int) ([]float64, error) {
	k := len(centres)
	total := make([]int64, k*(1+r))
	x := make([]float64, r)
	for i := 0; i < len(q); i += r {
		if i/r%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for j, v := range q[i : i+r] {
			x[j] = float64(v) / levels
		}
		c := nearest(centres, x)
		total[c] += levels
		for j, v := range q[i : i+r] {
			total[k+c*r+j] += int64(v)
		}
	}
	out := make([]float64, len(total))
	for j, v := range total {
		out[j] = float64(v)
	}
	return out, nil
}

// heldCounts is a number of standard deviations of noise. A centre is moved to the mean of its cluster only if
// the released number of records is at least this large.
const heldCounts = 3

// update moves the centres, in units of the radius, to the means computed from one release, or from the mean of
// several releases. It returns the released numbers of records and the indices of the moved centres. A centre is not
// moved if its released number of records is below 1, or below heldCounts standard deviations of its noise.
func (p *Plan) update(centres [][]float64, released []float64, averaged int) (counts []float64, held []int) {
	k, r := len(centres), p.Options.Dim
	for c := range centres {
		n := released[c] / levels
		counts = append(counts, max(n, 0))
		if n < max(1, heldCounts*p.CountNoise/math.Sqrt(float64(averaged))) {
			continue
		}
		held = append(held, c)
		for j, v := range released[k+c*r:][:r] {
			centres[c][j] = v / levels / n
		}
		within(centres[c])
	}
	return counts, held
}

// Assign returns the index of the nearest centre of each mapped record. rows is row-major. Records are
// shortened to the radius and rounded as in a clustering.
func Assign(centres [][]float64, rows []float64, radius float64) []int {
	r := len(centres[0])
	unit := make([][]float64, len(centres))
	for c, of := range centres {
		unit[c] = make([]float64, r)
		for j, v := range of {
			unit[c][j] = v / radius
		}
	}
	places, q, x := make([]int, len(rows)/r), make([]int32, r), make([]float64, r)
	for i := range places {
		wholeRow(q, rows[i*r:][:r], radius)
		for j, v := range q {
			x[j] = float64(v) / levels
		}
		places[i] = nearest(unit, x)
	}
	return places
}
