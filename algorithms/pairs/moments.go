package pairs

import (
	"context"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/tasks"
	"dyad/privacy"
)

// countWeight is c over h^2, the weight of the number of similar pairs in the release. It makes the noise 6 %
// larger. The noise of the number has a standard deviation of 3 kappa/mu pairs.
const countWeight = 0.5

// second returns the number of coordinates of one sum of second moments.
func (s Spec) second() int { return engine.Symmetric{Dim: s.Dim}.Len() }

// certifyMoments certifies the one release of method Moments and chooses its noise. The release is the vector
// (c n_S, sum over similar pairs, sum over dissimilar pairs), in units of h^2, with c = countWeight.
func (p *Plan) certifyMoments() error {
	s := p.Spec
	e, err := embedding.MomentsError(s.Pairs, s.Dim, s.Bound, s.Clip)
	if err != nil {
		return err
	}
	// Numbers are converted to units of h^2 by one division, and the count by one product. The error bound
	// holds for either sum, so both sums together have this bound times sqrt 2.
	m, square := float64(s.Pairs), s.Clip*s.Clip*(1-0x1p-50)
	second := e.Second/square + 0x1p-51*(m+e.Second/square)
	count := countWeight * (e.Positives + 0x1p-53*(m+e.Positives))
	c, err := privacy.PairMoments{
		Group: s.Kappa, Radius: 1 + 0x1p-50, Count: countWeight,
		Error: math.Sqrt(2*second*second+count*count) * (1 + 0x1p-40),
	}.Certify()
	if err != nil {
		return err
	}
	var noise privacy.Mechanism
	if s.Budget.Delta > 0 {
		noise, err = privacy.CalibrateGaussian(c, s.Budget, 1)
	} else {
		noise, err = privacy.CalibratePure(c, s.Budget.Epsilon, 1+2*s.second(), privacy.KNormNoise)
	}
	if err != nil {
		return err
	}
	return p.account(c, noise)
}

// trainMoments releases the moments of the pairs once and computes the matrix from the released moments.
func (p *Plan) trainMoments(ctx context.Context, data *embedding.Data, workers int, session privacy.Session,
	t algorithms.Tracker) ([]float64, error) {
	s, k := p.Spec, p.Spec.second()
	sums, err := embedding.NewMoments(data, s.Clip, workers)
	if err != nil {
		return nil, err
	}
	v := make([]float64, 1+2*k)
	similar, err := sums.Sum(ctx, v[1:1+k], v[1+k:])
	if err != nil {
		return nil, err
	}
	v[0] = similar * countWeight
	for i := range v[1:] {
		v[1+i] /= s.Clip * s.Clip
	}
	var noise float64
	if p.Noise() == nil {
		err = session.ReleaseExact(v)
	} else {
		noise = p.Noise().NoiseNorm(len(v)) / math.Sqrt(float64(len(v)))
		err = session.Release(v, p.Certificate(), p.Noise())
	}
	if err != nil {
		return nil, err
	}
	w, err := tasks.Await(ctx, func() []float64 { // a decomposition may take seconds
		return s.factor(algorithms.PairMetric(algorithms.PairMoments{
			Dim: s.Dim, Pairs: s.Pairs, Similar: v[0] / countWeight, SumS: v[1 : 1+k], SumD: v[1+k:], Noise: noise,
			OfCount: noise / countWeight,
		}))
	})
	if err == nil {
		t.Step(1, 1)
	}
	return w, err
}

// factor returns a matrix with Rows rows. Its distances equal the distances of a metric in the Rows longest
// directions of the metric. The rows are the eigenvectors of the largest eigenvalues times the roots of these
// eigenvalues. The mean squared distance of the metric is 1 in units of h^2; the mean squared distance of the
// matrix is the squared margin.
func (s Spec) factor(metric []float64) []float64 {
	values, vectors := engine.Symmetric{Dim: s.Dim}.Eigen(metric)
	_, margin := s.Loss.Parameter()
	w := make([]float64, s.Rows*s.Dim)
	for r := range s.Rows {
		i := s.Dim - 1 - r
		root := margin / s.Clip * math.Sqrt(max(values[i], 0))
		for k, u := range vectors[i] {
			w[r*s.Dim+k] = math.Max(-1e100, math.Min(1e100, root*u))
		}
	}
	return w
}

// momentFacts adds the facts that a plan of method Moments reports about its release.
func (p *Plan) momentFacts(f *algorithms.Facts) {
	s := p.Spec
	f.Line("moments", "one release of %d numbers: second moments of similar and of dissimilar pairs, clipped to "+
		"%g, and the number of similar pairs",
		f.Add("coordinates", 1+2*s.second()), f.Add("clip", s.Clip))
	if p.Noise() != nil {
		norm := p.Noise().NoiseNorm(1 + 2*s.second())
		f.Line("noise", "%s; sensitivity %.6g%s; noise %.6g in each (isometric) coordinate of the sum over %d "+
			"pairs; unit: clip^2",
			f.Add("noise", p.Noise().String()), f.AddSome("sensitivity", p.Certificate().Sensitivity()),
			f.NoiseMultiplier(p.Noise(), p.Certificate()),
			f.Add("second_moments_noise", norm/math.Sqrt(float64(1+2*s.second()))), s.Pairs)
	}
}
