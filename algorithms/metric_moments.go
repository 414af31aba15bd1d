package algorithms

import (
	"context"
	"errors"
	"math"

	"dyad/engine"
	"dyad/internal/tasks"
	"dyad/privacy"
)

// MomentMetric is a private Mahalanobis metric computed from class moments that are released once. Let x~ =
// clip(x - c, R) for the released centre c. The release
//
//	(S+, S-, R n+, h M+, h M-),   h = 1/(sqrt 2 R),
//
// holds the sum S of x~ and the sum M of x~ x~^T over each class, and the number n+ of positives. It needs
// no more noise than the sums S alone (docs/theory.md#class-moments). The metric W is computed from the
// release (momentMetric). W stretches the directions in which the means or variances of the classes differ
// by more than the noise, and leaves other directions unchanged. Then W is scaled to Frobenius norm r. It
// does not depend on a loss (docs/theory.md#metric-from-moments).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record. The guarantee follows from
// the exact composition of two Gaussian releases (docs/theory.md#released-centre). It covers the released
// moments, which leave Train only through W.
type MomentMetric struct {
	// CentreShare is the share of mu^2 that is spent on the centre, in (0, 1). The remaining share is spent on
	// the moments. If it is 0, 0.15 applies. Shares from 0.05 to 0.3 gave equal results
	// (bench/results/metric-moments-study.csv).
	CentreShare float64
	// ClipRadius is R, at most twice the norm bound of records. If it is 0, 0.2 times the norm bound applies.
	ClipRadius float64
}

// maxMetricMoments bounds d. At this size, two decompositions and some products of d x d matrices take seconds.
const maxMetricMoments = 512

// Info describes the algorithm.
func (MomentMetric) Info() Info {
	return Described("moment-metric", Info{Modes: []Mode{Certified}, MetricsOnly: true, Withholds: true})
}

// Plan computes the shares, the certificates and the noise.
func (a MomentMetric) Plan(s Spec) (*Plan, error) {
	i := a.Info()
	if err := checkApplies(i, s); err != nil {
		return nil, err
	}
	if err := s.checkMoments(i.Name, "moments, dpgdsc, dpgdc or gradient-perturbation", false); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	bad := func(format string, args ...any) (*Plan, error) {
		return nil, Refused("moment-metric", ": "+format, args...)
	}
	switch bound := problem.Bounds.FeatureNorm; {
	case problem.LabelValues != 0 && problem.LabelLimit() > 2:
		return bad("moments need two classes, but there are up to %d labels; name two classes in the schema, or "+
			"use dpgdsc", problem.LabelLimit())
	case problem.D > maxMetricMoments:
		return bad("there are %d features, but moments take at most %d; use gradient-perturbation, or fewer features",
			problem.D, maxMetricMoments)
	case s.L2 > 0:
		return bad("an L2 term has no effect: there is no objective; leave the L2 term out, or use dpgdsc")
	case !(a.CentreShare >= 0 && a.CentreShare < 1):
		return bad("the budget share of the centre is %v, want at least 0 and below 1", a.CentreShare)
	case !(a.ClipRadius >= 0 && a.ClipRadius <= 2*bound):
		return bad("the clip radius is %v, but must be at most 2 R = %v (R = norm bound)",
			a.ClipRadius, 2*bound)
	}
	kernel, err := s.Backend.PlanMoments(problem)
	if err != nil {
		return nil, s.noMoments(err)
	}
	s.Kernel = kernel
	m, rows, err := a.releases(s, kernel)
	if err != nil {
		return nil, err
	}
	return m.plan(i, s, rows)
}

// releases returns both releases with their noise. With alpha = R^2 and beta = h^2 R^4 = alpha/2 the joint
// sensitivity is 2 R, which is the sensitivity of the sums alone; a count with the weight R adds nothing.
func (a MomentMetric) releases(s Spec, kernel engine.Kernel) (*MomentsPlan, Releases, error) {
	problem := s.Kernel.Problem()
	n, d, bound := float64(problem.N), problem.D, problem.Bounds.FeatureNorm
	share, clip := a.CentreShare, a.ClipRadius
	if share == 0 {
		share = 0.15
	}
	if clip == 0 {
		clip = 0.2 * bound
	}
	// Queries that an evaluator would refuse after the charge are refused before the charge.
	if err := (engine.Query{Radius: clip, Class: 1, Second: engine.FullSecond}).Validate(d, problem.Bounds); err != nil {
		return nil, nil, Refused("moment-metric", ": %w", err)
	}
	m := &MomentsPlan{Passes: 3, Classes: true, CentreReleased: true, ClipRadius: clip, Second: engine.FullSecond,
		Scale: 1 / (math.Sqrt2 * clip)}
	centre, err := privacy.RecordSum{Radius: bound, Weight: 1, Error: kernel.Bounds(engine.Query{Radius: bound}).Sum,
		Name: "sum of records"}.Certify()
	// The errors hold for each class, so the factor sqrt 2 covers both classes. Multiplication by h and by the
	// weight of the count rounds once more.
	e := kernel.Bounds(engine.Query{Radius: clip, Second: engine.FullSecond})
	second := m.Scale * (e.Second + 0x1p-53*(n*clip*clip+e.Second))
	count := clip * (e.Positives + 0x1p-53*(n+e.Positives))
	rho := math.Sqrt(2*e.Sum*e.Sum+2*second*second+count*count) * (1 + 0x1p-40)
	joint, err2 := privacy.ClassMoments{Radius: clip, Scale: m.Scale, Count: clip, Error: rho}.Certify()
	if err := errors.Join(err, err2); err != nil {
		return nil, nil, err
	}
	rows := Releases{
		{Name: centreName, Coordinates: d, Share: share, Certificate: centre},
		{Name: className, Coordinates: 1 + 2*d + 2*engine.FullSecond.Len(d), Share: 1 - share, Certificate: joint},
	}
	if err := rows.Calibrate(s.Budget); err != nil {
		return nil, nil, err
	}
	m.CentreNoise, m.SumNoise = rows[0].Deviation(), rows[1].Deviation()
	m.SecondNoise, m.CountNoise = m.SumNoise/m.Scale, m.SumNoise/m.ClipRadius
	return m, rows, nil
}

// Train releases the moments and computes the metric from them. Its state after the first pass is the
// released sum of the records. After the second pass, the state also contains the exact moments of
// the positive records, which the second pass computed. A checkpoint may keep this state.
func (MomentMetric) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session,
	t Tracker) ([]float64, error) {
	m, problem := p.Moments(), p.Spec.Kernel.Problem()
	n, d, R := float64(problem.N), problem.D, m.ClipRadius
	first, last := p.Releases[0], p.Releases[1]
	// released is the released sum of records; v holds n+, S+, S-, M+, M-.
	released, v := make([]float64, d), make([]float64, last.Coordinates)
	done, err := t.Restore(nil, released, v)
	if err != nil {
		return nil, err
	}
	if done == 0 {
		dst := engine.NewMoments(d, engine.NoSecond)
		if err := ev.Sum(ctx, dst.All, engine.Query{Radius: problem.Bounds.FeatureNorm}); err != nil {
			return nil, err
		}
		copy(released, dst.Sum)
		clear(dst.All)
		if err := s.Release(released, first.Certificate, first.Noise); err != nil {
			return nil, err
		}
		done = 1
		t.Keep(done, nil, released, v)
		t.Step(done, m.Passes)
	}
	centre := make([]float64, d)
	for k := range centre {
		centre[k] = released[k] / n
	}
	momentsCentre(centre, m.CentreNoise/n)
	engine.ProjectBall(centre, problem.Bounds.FeatureNorm)
	k := m.Second.Len(d)
	second := v[1+2*d:]
	for i, class := range []float64{1, -1} {
		if done > i+1 {
			continue
		}
		dst := engine.NewMoments(d, m.Second)
		if err := ev.Sum(ctx, dst.All, engine.Query{Centre: centre, Radius: R, Class: class, Second: m.Second}); err != nil {
			return nil, err
		}
		v[0] = R * dst.Positives()
		copy(v[1+i*d:], dst.Sum)
		copy(second[i*k:], dst.Second)
		clear(dst.All)
		if i == 0 {
			t.Keep(2, nil, released, v)
			t.Step(2, m.Passes)
		}
	}
	for i := range second {
		second[i] *= m.Scale
	}
	if err := s.Release(v, last.Certificate, last.Noise); err != nil {
		return nil, err
	}
	w, err := m.metric(ctx, v, problem)
	if err != nil {
		return nil, err
	}
	t.Step(m.Passes, m.Passes)
	return w, nil
}

// metric returns the metric of the released vector v, which it overwrites. It returns when ctx is done, even
// during a decomposition.
func (m *MomentsPlan) metric(ctx context.Context, v []float64, problem engine.Problem) ([]float64, error) {
	d, k, R := problem.D, m.Second.Len(problem.D), m.ClipRadius
	for i := range v {
		v[i] /= R // lengths are in units of R
		if i > 2*d {
			v[i] /= m.Scale * R
		}
	}
	sum, second := v[1:1+2*d], v[1+2*d:]
	w, err := tasks.Await(ctx, func() []float64 {
		return momentMetric(classMoments{
			n: problem.N, d: d, positives: v[0], sumPlus: sum[:d], sumMinus: sum[d:], plus: second[:k], minus: second[k:],
			s1: m.SumNoise / R, s2: m.SecondNoise / (R * R), sn: m.CountNoise,
		})
	})
	if err != nil {
		return nil, err
	}
	engine.ScaleTo(w, problem.Radius)
	return w, problem.Domain().Project(w, normAbove(w))
}
