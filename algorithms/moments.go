package algorithms

import (
	"context"
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/privacy"
)

// Moments is a private linear discriminant: class moments are released once, and the model is
// computed from them. Let x~ = clip(x - c, R), c a released or public centre, and b = 2 p - 1
// for the released or declared share p of positives:
//
//	v = sum (y - b) x~,   M = sum x~ x~^T,   w = (Xi + lambda I)^-1 v, scaled to norm r
//
// where Xi is M with eigenvalues that were cleaned of noise, and b may be shrunk towards 0 where
// its noise says so (momentsFilter, momentsOffset). Without noise w minimises the least-squares
// loss (w.(x - x') - (y - y')/2)^2 over all pairs of clipped records, with a ridge
// (docs/theory.md#least-squares-auc); scores w.x order records as other algorithms' do.
// Labels may be grades: then it is the least-squares loss of their differences.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record by exact composition
// of Gaussian releases, or epsilon-DP by K-norm noise if delta is 0
// (docs/theory.md#released-centre). It covers all released moments. They leave Train by w
// only.
type Moments struct {
	// Second is "none", "diagonal" or "full", the second moments that are released; ""
	// means the public rule.
	Second string
	// CountShare, CentreShare and SecondShare are the shares of mu^2 (of epsilon for
	// delta = 0) of the number of positives, the centre and the second moments, in (0, 1);
	// the signed sum gets the rest. 0 means the public rule.
	CountShare, CentreShare, SecondShare float64
	// ClipRadius is R, at most twice the norm bound of records; 0 means the public rule.
	ClipRadius float64
	// Ridge is m in the part m s sqrt(d) of lambda for full and m s for diagonal second
	// moments, s the standard deviation of the noise of one diagonal entry; 0 means the public rule. An L2
	// term alpha/2 ||w||^2 of the objective adds n alpha/4.
	Ridge float64
	// Centre is a public centre, d numbers within the norm bound, or a single 0 for the
	// origin; nil: it is released, or the origin, by the public rule. It must not come from
	// the data.
	Centre []float64
	// Balance is a public share of positives in (0, 1); 0: it is released.
	Balance float64
}

// Info describes the algorithm.
func (Moments) Info() Info {
	return Info{
		Name:  "moments",
		Title: "private linear discriminant: count, centre, signed sum and second moments, released once",
		Paper: "[Gao13] least-squares AUC from moments; [Wang18] adaptive ridge",
		Assumptions: []string{
			"linear scores, pairs of all records; the loss is least squares whatever --loss says elsewhere",
			"R, the shares of the budget, the ridge and which moments are released are functions of public numbers",
			"a declared centre or share of positives is public, not computed from the data",
		},
		Released: "number of positives, centre, signed sum and second moments with noise; the model is computed from them",
		Claim:    "none for this combination",
		Verdict:  "valid by adaptive composition: a released centre is public for what follows; sensitivities are attained, and the joint release costs up to 13 % less noise than its parts",
		Maths: `t = sum of 1[y = 1]: sensitivity 1,  c = (sum x)/n: 2 R_x,  R_x the norm bound; p = t/n and c are clamped after the noise
x~ = clip(x - c, R),  b = 2 p - 1
v = sum (y - b)/(1 + |b|) x~: 2 R,  M = sum x~ x~^T in isometric coordinates, or its diagonal: sqrt 2 R^2
jointly (v, h M): J(R^2, h^2 R^4),  J(alpha, beta) = 2 sqrt alpha if alpha >= 2 beta, else sqrt(2 alpha + 2 beta + alpha^2/(2 beta))
each plus 2 rho for floating point; sigma_i = Delta_i/(mu(epsilon, delta) sqrt f_i), sum f_i = 1, so sum (Delta_i/sigma_i)^2 = mu^2
w = (Xi + lambda I)^-1 v, scaled to norm r;  Xi: eigenvalues of M cleaned of noise,  lambda = s1^2/tau^2 + m s2 sqrt d,
s1 and s2 the noises of v and of a diagonal entry of M, tau^2 the signal in v per eigenvalue: post-processing of releases
delta = 0: v and M apart, K-norm noise of scale Delta_i/(f_i epsilon)`,
		Modes:      []Mode{Certified},
		PureModes:  []Mode{Certified},
		ScoresOnly: true,
	}
}

// Train releases the moments and computes the model from them. Between the passes it may
// leave what is released, the state of the training, in a checkpoint.
func (a Moments) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	sums, ok := ev.(engine.MomentsEvaluator)
	if !ok {
		return nil, fmt.Errorf("%w: moments needs an evaluator of moments", ErrAssumption)
	}
	m, problem := p.Moments, p.Spec.Kernel.Problem()
	released := m.released(problem.D)
	done, err := Restore(t, nil, released.first)
	if err != nil {
		return nil, err
	}
	err = m.collect(ctx, sums, s, released, done, func(done int) {
		if done < m.Passes {
			Keep(t, done, nil, released.first)
			t.Step(done, m.Passes)
		}
	})
	if err != nil {
		return nil, err
	}
	w, err := m.direction(ctx, released.sum(), released.second(), float64(problem.N))
	if err != nil {
		return nil, err
	}
	engine.ScaleTo(w, problem.Radius)
	t.Step(m.Passes, m.Passes)
	return w, nil
}

// releasedMoments are what is released, and what follows from it for the next pass.
type releasedMoments struct {
	first []float64 // number of positives and sum of records, zero if they are not released
	last  []float64 // signed sum over 1 + |b| and second moments of clipped records
	d     int

	centre []float64 // nil: the origin
	offset float64   // b
	share  float64   // of positives
}

func (r *releasedMoments) sum() []float64    { return r.last[:r.d] }
func (r *releasedMoments) second() []float64 { return r.last[r.d:] }

// released has room for what m releases.
func (m *MomentsPlan) released(d int) *releasedMoments {
	return &releasedMoments{d: d, first: make([]float64, 1+d), last: make([]float64, d+m.Second.Len(d))}
}

// collect releases the moments that passes after the first done of them sum; r has the others.
// It calls after with the number of passes when one is released.
func (m *MomentsPlan) collect(ctx context.Context, sums engine.MomentsEvaluator, s privacy.Session, r *releasedMoments, done int, after func(done int)) error {
	problem := sums.Kernel().Problem()
	n, bound := float64(problem.N), problem.Bounds.FeatureNorm
	releases := m.Releases
	release := func(x []float64) error {
		this := releases[0]
		releases = releases[1:]
		return s.Release(x, this.Certificate, this.Noise)
	}
	positives, centre := r.first[:1], r.first[1:]
	if m.Passes > 1 && done == 0 {
		dst := engine.Moments{Sum: centre}
		if err := sums.Moments(ctx, &dst, engine.MomentSums{Radius: bound}); err != nil {
			return err
		}
		positives[0] = dst.Positives
		// What is not released is public, and the exact sum is not needed.
		if m.Balance > 0 {
			clear(positives)
		} else if err := release(positives); err != nil {
			return err
		}
		if !m.CentreReleased {
			clear(centre)
		} else if err := release(centre); err != nil {
			return err
		}
		after(1)
	}
	keep, count := 1.0, positives[0]
	if r.centre = m.Centre; m.CentreReleased {
		r.centre = slices.Clone(centre)
		for k := range r.centre {
			r.centre[k] /= n
		}
		keep = momentsCentre(r.centre, m.CentreNoise/n)
		engine.ProjectBall(r.centre, bound)
	}
	if m.Balance > 0 {
		count = m.Balance * n
	}
	r.offset, r.share = m.offset(count, n, bound, keep), min(max(count/n, 1/n), 1-1/n)
	if done >= m.Passes {
		return nil
	}
	releases = m.Releases[m.first():]
	v, second := r.sum(), r.second()
	dst := engine.Moments{Sum: v, Second: second}
	if err := sums.Moments(ctx, &dst, engine.MomentSums{Centre: r.centre, Radius: m.ClipRadius, Signed: true, Offset: r.offset, Second: m.Second}); err != nil {
		return err
	}
	if m.Scale > 0 {
		for k := range second {
			second[k] *= m.Scale
		}
		if err := release(r.last); err != nil {
			return err
		}
		for k := range second {
			second[k] /= m.Scale
		}
	} else {
		if err := release(v); err != nil {
			return err
		}
		if m.Second != engine.NoSecond {
			if err := release(second); err != nil {
				return err
			}
		}
	}
	after(m.Passes)
	return nil
}

// direction is the model of released moments, of any length. All lengths are in units of R.
func (m *MomentsPlan) direction(ctx context.Context, v, second []float64, n float64) ([]float64, error) {
	R, square := m.ClipRadius, m.ClipRadius*m.ClipRadius
	for k := range v {
		v[k] /= R
	}
	if m.Second == engine.NoSecond {
		return v, nil
	}
	basis, err := m.spectrum(ctx, second, len(v), n)
	if err != nil {
		return nil, err
	}
	return basis.back(ridged(basis.values, basis.along(v), m.SumNoise/R, n, m.Ridge/square)), ctx.Err()
}

// spectrum is a matrix of second moments: eigenvalues, and unit vectors or nil for the axes.
type spectrum struct {
	values  []float64
	vectors [][]float64
}

// along are the coordinates of x along the vectors, and back is the sum of the vectors with
// coordinates a.
func (s spectrum) along(x []float64) []float64 {
	if s.vectors == nil {
		return slices.Clone(x)
	}
	a := make([]float64, len(x))
	for i, u := range s.vectors {
		for k := range u {
			a[i] += u[k] * x[k]
		}
	}
	return a
}

func (s spectrum) back(a []float64) []float64 {
	if s.vectors == nil {
		return slices.Clone(a)
	}
	x := make([]float64, len(a))
	for i, u := range s.vectors {
		for k := range u {
			x[k] += a[i] * u[k]
		}
	}
	return x
}

// spectrum is the estimate Xi of released second moments in units of R^2, which it overwrites.
// Where none are released it is the flat one of the largest possible trace. It returns when ctx
// is done, however long a decomposition takes.
func (m *MomentsPlan) spectrum(ctx context.Context, second []float64, d int, n float64) (spectrum, error) {
	square := m.ClipRadius * m.ClipRadius
	for k := range second {
		second[k] /= square
	}
	switch m.Second {
	case engine.FullSecond:
		solved := make(chan spectrum, 1)
		go func() {
			values, vectors := engine.Symmetric{Dim: d}.Eigen(second)
			solved <- spectrum{cleaned(values, m.SecondNoise/square, n, 1), vectors}
		}()
		select {
		case s := <-solved:
			return s, nil
		case <-ctx.Done():
			return spectrum{}, ctx.Err()
		}
	case engine.DiagonalSecond:
		for k, q := range second {
			second[k] = max(q, 0)
		}
		return spectrum{values: second}, nil
	}
	return spectrum{values: slices.Repeat([]float64{n / float64(d)}, d)}, nil
}
