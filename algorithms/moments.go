package algorithms

import (
	"context"
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/internal/tasks"
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
// Steps > 0: this is the start. Each step then releases one gradient of the pointwise logistic
// loss of the clipped records,
//
//	g = sum (sigmoid(w.x~ + c) - t) x~,   w -= (h Xi + (l + h ridge) I)^-1 g,
//
// t the share of a positive (1, 0, or a grade between), l the damping that the noise of g asks
// for, c and h fixed at the start: near Newton's steps (docs/theory.md#damped-steps).
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
	// Steps is the number of steps, at most 20. They need second moments, delta > 0 and no L2
	// term. 0: none.
	Steps int
	// StepShare is the share of mu^2 of all steps together, in equal parts. 0 means the public
	// rule.
	StepShare float64
	// Intervals appends the standard errors of the weights to them: d more numbers, computed from
	// what is released anyway. Not with Steps, and not without second moments.
	Intervals bool
	// LogOdds appends 4 + d numbers to the weights (and errors), in the order of the fields of metrics.LogOdds: the log odds of the
	// positive class, computed from what is released anyway. Nothing without second moments. See docs/theory.md#log-odds.
	LogOdds bool `flag:"-"`
	// Blocks are the numbers of neighbouring features, d together, that are read as one, such as those of a curve. The covariance of
	// the noise of their weights is appended to the weights (and errors): for each block of k features the k(k+1)/2 numbers of its
	// lower triangle by rows, computed from what is released anyway. nil: nothing. See docs/theory.md#curve-bands.
	Blocks []int
	// Lines are d numbers, for each of Blocks the weights of its features that make a straight line, not all 0. The
	// unexplained rest is then shrunk by how far it stands out of its noise, with full second moments of up to 512
	// features. nil shrinks no part. See docs/theory.md#bends.
	Lines []float64
}

// Info describes the algorithm.
func (Moments) Info() Info {
	return Described("moments", Info{Modes: []Mode{Certified}, PureModes: []Mode{Certified}, ScoresOnly: true, Withholds: true})
}

// Train releases the moments, and gradients at models that were computed from them, and computes
// the model. After each pass it may leave what is released, the state of the training, in a
// checkpoint.
func (a Moments) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	m, problem := p.Moments(), p.Spec.Kernel.Problem()
	if m.Pairs == nil && m.NoPairs == "" {
		return a.train(ctx, ev, m, problem, p.Releases, m.released(problem.D), s, t)
	}
	holder, ok := ev.(engine.Holder)
	switch {
	case !ok: // its kernel said that it is
		return nil, fmt.Errorf("algorithms: a choice of pairs needs an evaluator that holds the records, not a %T", ev)
	case m.Pairs == nil:
		return a.trainPlain(ctx, holder, p, s, t)
	}
	return a.trainPairs(ctx, holder, p, s, t)
}

// train is Train for the rows of m; released gets its moments.
func (a Moments) train(ctx context.Context, ev engine.Evaluator, m *MomentsPlan, problem engine.Problem, rows Releases, released *releasedMoments, s privacy.Session, t Tracker) ([]float64, error) {
	n, d := float64(problem.N), problem.D
	gradients := make([]float64, m.Steps*d)
	// Without steps no state is needed after the last pass.
	state := [][]float64{released.first}
	if m.Steps > 0 {
		state = append(state, released.last, gradients)
	}
	done, err := t.Restore(nil, state...)
	if err != nil {
		return nil, err
	}
	keep := func(done int) {
		if done < m.Passes {
			t.Keep(done, nil, state...)
			t.Step(done, m.Passes)
		}
	}
	if err := m.collect(ctx, ev, s, rows, released, done, keep); err != nil {
		return nil, err
	}
	if m.Group > 0 {
		n = pairWeight(problem)
	}
	fit, err := m.fit(ctx, released.sum(), released.second(), n)
	if err != nil {
		return nil, err
	}
	noise := m.noise(fit)
	var model momentsLogit
	if m.Second != engine.NoSecond {
		model = m.logit(fit, released, n)
	}
	if m.Steps > 0 {
		atStart := 0.0 // the length of the start over that of the fit
		if before := normAbove(fit.w); before > 0 {
			atStart = normAbove(model.w) / before
		}
		after := noise.scaled(atStart)
		for i := range m.Steps {
			g := gradients[i*d:][:d]
			if pass := m.Passes - m.Steps + i + 1; pass > done {
				sum := engine.NewMoments(d, engine.NoSecond)
				if err := ev.Sum(ctx, sum.All, engine.Query{W: over(fit.sum(model.w), m.ClipRadius), Intercept: model.intercept, Centre: released.centre, Radius: m.ClipRadius}); err != nil {
					return nil, err
				}
				copy(g, sum.Sum)
				clear(sum.All)
				r := rows[len(rows)-m.Steps+i]
				if err := s.Release(g, r.Certificate, r.Noise); err != nil {
					return nil, err
				}
				keep(pass)
			}
			s := m.StepNoise / m.ClipRadius
			by := model.step(fit.along(inUnits(g, m.ClipRadius)), fit.values, s, m.Ridge/(m.ClipRadius*m.ClipRadius))
			after.step(by, fit.values, model.h, s)
		}
		if fit.take(model) {
			noise = after
		}
	}
	if a.Lines != nil {
		fit.straighten(noise, a.Lines, a.Blocks)
	}
	w := fit.sum(fit.w)
	length := normAbove(w)
	engine.ScaleTo(w, problem.Radius)
	t.Step(m.Passes, m.Passes)
	if a.Intervals && length > 0 {
		w = append(w, m.weightErrors(fit, released.share, released.offset, problem.Radius/length)...)
	}
	if a.LogOdds && length > 0 && m.Second != engine.NoSecond {
		w = append(w, model.odds(released.centre, n, problem.D, problem.Radius, m.ClipRadius)...)
	}
	if length > 0 {
		w = append(w, noise.blocks(fit.spectrum, a.Blocks, problem.Radius/length)...)
	}
	return w, nil
}

// logit is the model of the log odds at the start of the steps, or without any.
func (m *MomentsPlan) logit(fit momentsFit, r *releasedMoments, n float64) momentsLogit {
	s, p := 0.0, (1+r.balance)/2
	if m.Steps == 0 { // nothing corrects the start: its noise is taken off, and a share below its noise is not known
		least := min(0.5, m.CountNoise/n)
		s, p = m.SumNoise/m.ClipRadius, max(least, min(1-least, p))
	}
	return fit.logit(n, p, r.offset, s)
}

// releasedMoments are what is released, and what follows from it for the next pass.
type releasedMoments struct {
	first []float64 // number of positives and sum of records, zero if they are not released
	last  []float64 // of sums: signed sum over 1 + |b| and second moments of clipped records
	sums  engine.Moments

	centre []float64 // nil: the origin
	offset float64   // b
	share  float64   // of positives
	// balance is 2 p - 1 for a share p that was shrunk by its noise.
	balance float64
}

func (r *releasedMoments) sum() []float64    { return r.sums.Sum }
func (r *releasedMoments) second() []float64 { return r.sums.Second }

// released has room for what m releases.
func (m *MomentsPlan) released(d int) *releasedMoments {
	sums := engine.NewMoments(d, m.Second)
	return &releasedMoments{first: make([]float64, 1+d), last: sums.All[1:], sums: sums}
}

// collect releases the moments that passes after the first done of them sum, those of steps aside; r has the others.
// It calls after with the number of passes when one is released.
func (m *MomentsPlan) collect(ctx context.Context, ev engine.Evaluator, s privacy.Session, all Releases, r *releasedMoments, done int, after func(done int)) error {
	problem := ev.Kernel().Problem()
	n, bound := float64(problem.N), problem.Bounds.FeatureNorm
	rows := all
	release := func(x []float64) error {
		this := rows[0]
		rows = rows[1:]
		return s.Release(x, this.Certificate, this.Noise)
	}
	positives, centre := r.first[:1], r.first[1:]
	last := m.Passes - m.Steps
	if last > 1 && done == 0 {
		if err := ev.Sum(ctx, r.first, engine.Query{Radius: bound}); err != nil {
			return err
		}
		// Other values are public, and the exact sum is not needed.
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
		r.centre = over(centre, n)
		keep = momentsCentre(r.centre, m.CentreNoise/n)
		engine.ProjectBall(r.centre, bound)
	}
	if m.Balance > 0 {
		count = m.Balance * n
	}
	r.balance, r.share = m.balance(count, n), min(max(count/n, 1/n), 1-1/n)
	if r.offset = m.offset(r.balance, bound, keep); m.Group > 0 {
		r.offset = 0
	}
	if done >= last {
		return nil
	}
	rows = all[m.firstReleases():]
	v, second := r.sum(), r.second()
	if err := ev.Sum(ctx, r.sums.All, engine.Query{Centre: r.centre, Radius: m.ClipRadius, Signed: true, Offset: r.offset, Second: m.Second}); err != nil {
		return err
	}
	r.sums.All[0] = 0 // the count
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
	after(last)
	return nil
}

// momentsFit is the model of released moments, of any length, in units of R.
type momentsFit struct {
	spectrum
	signed, w []float64 // the signed sum and the model along the vectors
	lambda    float64
}

// fit returns when ctx is done, however long a decomposition takes.
func (m *MomentsPlan) fit(ctx context.Context, v, second []float64, n float64) (momentsFit, error) {
	R, square := m.ClipRadius, m.ClipRadius*m.ClipRadius
	v = inUnits(v, R)
	var f momentsFit
	if m.Second != engine.NoSecond {
		var err error
		if f.spectrum, err = m.spectrum(ctx, second, len(v), n); err != nil {
			return f, err
		}
	}
	f.signed = f.along(v)
	f.lambda = momentsRidge(f.signed, f.values, m.SumNoise/R, n, m.Ridge/square)
	f.w = momentsSolution(f.signed, f.values, f.lambda)
	return f, ctx.Err()
}

// over is x/by.
func over(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for k := range x {
		y[k] = x[k] / by
	}
	return y
}

// maxUnits bounds releases in units of R and R^2 before anything is computed from them: products of several of them and
// of n stay finite. Noise takes no release there whose noise is not beyond all use.
const maxUnits = 0x1p200

// inUnits is a release over by, within maxUnits.
func inUnits(release []float64, by float64) []float64 {
	y := over(release, by)
	for k, v := range y {
		y[k] = min(max(v, -maxUnits), maxUnits)
	}
	return y
}

// spectrum is the estimate Xi of released second moments in units of R^2. Where none are released
// it is the flat one of the largest possible trace. It returns when ctx is done, however long a
// decomposition takes.
func (m *MomentsPlan) spectrum(ctx context.Context, second []float64, d int, n float64) (spectrum, error) {
	square := m.ClipRadius * m.ClipRadius
	second = inUnits(second, square)
	switch m.Second {
	case engine.FullSecond:
		return tasks.Await(ctx, func() spectrum {
			if d >= leastTopVectors {
				return wideSpectrum(second, d, m.SecondNoise/square, n)
			}
			values, vectors := engine.Symmetric{Dim: d}.Eigen(second)
			return spectrum{vectors: vectors, values: momentsSpectrum(values, m.SecondNoise/square, n, 1)}
		})
	case engine.DiagonalSecond:
		for k, q := range second {
			second[k] = max(q, 0)
		}
		return spectrum{values: second}, nil
	}
	return spectrum{values: slices.Repeat([]float64{n / float64(d)}, d)}, nil
}
