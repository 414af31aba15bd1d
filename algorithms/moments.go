package algorithms

import (
	"context"
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/internal/tasks"
	"dyad/privacy"
)

// Info describes the algorithm.
func (Moments) Info() Info {
	return Described("moments", Info{Modes: []Mode{Certified}, PureModes: []Mode{Certified}, ScoresOnly: true,
		Withholds: true})
}

// Train releases the moments and the gradients of the steps, and computes the model. Each gradient is at a
// model that was computed from earlier releases. After each pass it may save the released values, which are
// the state of the training, in a checkpoint.
func (a Moments) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session,
	t Tracker) ([]float64, error) {
	m, problem := p.Moments(), p.Spec.Kernel.Problem()
	if m.Pairs == nil && m.NoPairs == "" {
		return a.train(ctx, ev, m, problem, p.Releases, m.released(problem.D), s, t)
	}
	holder, ok := ev.(engine.Holder)
	switch {
	case !ok: // the plan's kernel has stated that its evaluator is a Holder
		return nil, fmt.Errorf("algorithms: a choice of pairs needs an evaluator with records, not a %T", ev)
	case m.Pairs == nil:
		return a.trainPlain(ctx, holder, p, s, t)
	}
	return a.trainPairs(ctx, holder, p, s, t)
}

// train implements Train for the rows of m. It stores the released moments in released.
func (a Moments) train(ctx context.Context, ev engine.Evaluator, m *MomentsPlan, problem engine.Problem, rows Releases,
	released *releasedMoments, s privacy.Session, t Tracker) ([]float64, error) {
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
		atStart := 0.0 // length of the start divided by the length of the fit
		if before := normAbove(fit.w); before > 0 {
			atStart = normAbove(model.w) / before
		}
		after := noise.scaled(atStart)
		for i := range m.Steps {
			g := gradients[i*d:][:d]
			if pass := m.Passes - m.Steps + i + 1; pass > done {
				sum := engine.NewMoments(d, engine.NoSecond)
				if err := ev.Sum(ctx, sum.All, engine.Query{W: over(fit.sum(model.w), m.ClipRadius), Intercept: model.intercept,
					Centre: released.centre, Radius: m.ClipRadius}); err != nil {
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

// logit returns the model of the log odds at the start of the steps, or of a model without steps.
func (m *MomentsPlan) logit(fit momentsFit, r *releasedMoments, n float64) momentsLogit {
	s, p := 0.0, (1+r.balance)/2
	// no step corrects the start, so its noise is removed here; a share below its noise counts as the noise
	if m.Steps == 0 {
		least := min(0.5, m.CountNoise/n)
		s, p = m.SumNoise/m.ClipRadius, max(least, min(1-least, p))
	}
	return fit.logit(n, p, r.offset, s)
}

// released returns storage for the releases of m.
func (m *MomentsPlan) released(d int) *releasedMoments {
	sums := engine.NewMoments(d, m.Second)
	return &releasedMoments{first: make([]float64, 1+d), last: sums.All[1:], sums: sums}
}

// collect releases the moments of the passes after the first done passes, except the gradients of steps. The moments
// of earlier passes are in r. After each pass it calls after with the number of passes made so far.
func (m *MomentsPlan) collect(ctx context.Context, ev engine.Evaluator, s privacy.Session, all Releases,
	r *releasedMoments, done int, after func(done int)) error {
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
	if err := ev.Sum(ctx, r.sums.All, engine.Query{Centre: r.centre, Radius: m.ClipRadius, Signed: true, Offset: r.offset,
		Second: m.Second}); err != nil {
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

// fit computes the model. It returns when ctx is done, even during a decomposition.
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

// maxUnits bounds releases in units of R and R^2 before a value is computed from them, so that products of several
// releases and n stay finite. Only noise that makes a release useless exceeds the bound.
const maxUnits = 0x1p200

// inUnits returns release/by, clipped to [-maxUnits, maxUnits].
func inUnits(release []float64, by float64) []float64 {
	y := over(release, by)
	for k, v := range y {
		y[k] = min(max(v, -maxUnits), maxUnits)
	}
	return y
}

// spectrum returns the estimate Xi from released second moments in units of R^2. If no second moments are
// released, Xi is the multiple of the identity with the largest possible trace. It returns when ctx is done,
// even during a decomposition.
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
