package algorithms

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
)

// These are the names of releases.
const (
	countName  = "number of positives"
	centreName = "sum of records (centre)"
	jointName  = "signed sum and second moments"
	signedName = "signed sum"
	secondName = "second moments"
	className  = "moments of both classes"
	groupName  = "moments within groups" // with or without second moments
	stepName   = "gradient of the pointwise logistic loss"
)

// Coordinates returns the length of the longest vector that the plan releases.
func (p *Plan) Coordinates() int {
	most := p.Spec.coordinates()
	for _, r := range p.Releases {
		most = max(most, r.Coordinates)
	}
	return most
}

// maxFullMoments bounds d for full second moments. The sums of a larger matrix take minutes.
const maxFullMoments = 8192

// Plan computes the shares, the certificates and the noise.
func (a Moments) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	grouped := len(problem.Groups) > 0
	err := s.checkMoments(a.Info().Name, "", grouped)
	if err != nil {
		return nil, err
	}
	if grouped {
		if a, err = a.withinGroups(s); err != nil {
			return nil, err
		}
	}
	choice, err := a.choose(s)
	if err != nil {
		return nil, err
	}
	if problem.Loss, err = leastSquares(); err != nil {
		return nil, err
	}
	if s.Constants, err = problem.Loss.Constants(problem.Bounds, problem.Radius); err != nil {
		return nil, err
	}
	if grouped {
		s.Kernel, err = engine.PlanGroupMoments(s.Backend, problem)
	} else {
		s.Kernel, err = s.Backend.PlanMoments(problem)
	}
	if err != nil {
		return nil, s.noMoments(err)
	}
	m, rows, err := a.releases(s, s.Kernel, choice)
	if err == nil && problem.Candidates.Choose > 0 {
		m, rows, err = a.withPairs(s, m, rows)
	}
	if err != nil {
		return nil, err
	}
	return m.plan(a.Info(), s, rows)
}

// checkMoments returns an error unless the backend of s can compute moments of all records, or moments within query
// groups if grouped is true. instead names other algorithms, which take groups.
func (s Spec) checkMoments(name, instead string, grouped bool) error {
	switch {
	case s.Backend == nil:
		return Refused(name, " needs Spec.Backend; use NewSpec")
	case len(s.Kernel.Problem().Groups) > 0 && !grouped:
		return Refused(name, " cannot pair records within query groups; use %s", instead)
	}
	return nil
}

// noMoments adds a remedy to the error of a backend that does not compute moments.
func (s Spec) noMoments(err error) error {
	if errors.Is(err, engine.ErrUnsupported) {
		return Refused("moments", " are not summed on %s; use the CPU (--device cpu): %w",
			s.Backend.Name(), err)
	}
	return err
}

// Moments returns the MomentsPlan of a plan that has one, and nil otherwise.
func (p *Plan) Moments() *MomentsPlan {
	m, _ := p.own.(*MomentsPlan)
	return m
}

// record adds the clip radius, on which the certificates rest, to a record of the plan.
func (m *MomentsPlan) record(r *planRecord) { r.ClipRadius = m.ClipRadius }

// work estimates the work of the passes over the records.
func (m *MomentsPlan) work(s Spec) Work {
	problem := s.Kernel.Problem()
	n, d := float64(problem.N), float64(problem.D)
	if k, ok := s.Kernel.(interface{ Pairs() float64 }); ok {
		n = k.Pairs()
	}
	w, each := Work{Passes: m.Passes}, nsRead*d+float64(m.Passes-1)*nsClip*d
	if m.Passes == 1 {
		each = nsClip * d
	}
	if m.Second == engine.FullSecond {
		if stored := float64(problem.NonZerosPerRow); stored > 0 && d >= leastTopVectors {
			each += nsWideMoment * stored * stored / 2
		} else {
			each += nsMoment * d * d
		}
		if w.Seconds = nsEigen * 1e-9 * d * d * d; d >= leastTopVectors {
			w.Seconds = nsWide * 1e-9 * d * d
			// four copies: the released matrix, the matrix in units of R, the sums of a chunk, and the noise
			w.Bytes = 4 * 8 * float64(m.Second.Len(problem.D))
		}
	}
	w.Seconds += each * 1e-9 * n
	return w
}

// plan returns the Plan of calibrated releases for the kernel of s.
func (m *MomentsPlan) plan(i Info, s Spec, rows Releases) (*Plan, error) {
	p := &Plan{
		Algorithm: i.Name, Mode: s.Mode, Spec: s, own: m, Work: m.work(s),
		Aim:      Aim{Loss: "square", apart: "minimises the square loss, then scales the weights to a fixed norm"},
		Schedule: Schedule{Name: "passes over the records", Steps: m.passes()},
	}
	if m.Classes {
		p.Aim = Aim{Loss: "no loss", apart: "minimises no loss"}
	}
	return p, p.promiseMoments(rows, m.assumption()) // no certificate depends on the constants of the loss
}

// promiseMoments fills in the fields of a plan that follow from its releases. rests are the assumptions of their
// certificates.
func (p *Plan) promiseMoments(rows Releases, rests ...string) error {
	s, m, problem := p.Spec, p.Moments(), p.Spec.Kernel.Problem()
	p.Releases, p.Aim.least = rows, leastMomentsSignal
	// The noise of the signed sum, scaled so that a sum of the largest norm n R has the norm of the radius.
	p.ModelNoise = problem.Radius * m.SumNoise * math.Sqrt(float64(problem.D)) / (float64(problem.N) * m.ClipRadius)
	g := p.words("", rests[0])
	g.Assumptions = append(g.Assumptions, rests[1:]...)
	g.Released, g.Derivation = m.guarantee(rows, problem.ByPerson())
	if err := p.Promise(s.Budget, problem.N, s.Provenance, g, rows); err != nil {
		return err
	}
	p.Facts = p.momentsFacts()
	p.Objective = p.objective() + "; " + m.objective()
	return nil
}

// leastSquares returns the least-squares loss, which reports name.
func leastSquares() (engine.Loss, error) {
	l, _ := engine.LibraryByName("square")
	e, err := l.Expression(engine.ExpressionOptions{})
	return engine.Score{Of: e}, err
}

// choose returns the choices of the public rule, replaced by the options that are set.
func (a Moments) choose(s Spec) (momentsChoice, error) {
	problem := s.Kernel.Problem()
	c := momentsRule(problem.N, problem.D, s.Budget, a.Balance)
	bad := func(format string, args ...any) (momentsChoice, error) {
		return momentsChoice{}, Refused("moments", ": "+format, args...)
	}
	for _, share := range []float64{a.CountShare, a.CentreShare, a.SecondShare, a.StepShare, a.Balance} {
		if !(share == 0 || share >= 0x1p-40 && share < 1) { // the noise of a smaller share may overflow
			return bad("a share is %v, want 0 or a number from 2^-40 to below 1", share)
		}
	}
	if !(a.Ridge >= 0) || math.IsInf(a.Ridge, 0) {
		return bad("the ridge factor is %v, but must be finite and not negative", a.Ridge)
	}
	bound := problem.Bounds.FeatureNorm
	if !(a.ClipRadius >= 0 && a.ClipRadius <= 2*bound) {
		return bad("the clip radius is %v, but must be at most 2 R = %v (R = norm bound)",
			a.ClipRadius, 2*bound)
	}
	if a.Centre != nil && !a.origin() && (len(a.Centre) != problem.D || !(normAbove(a.Centre) <= bound*(1+0x1p-30))) {
		return bad("the public centre has %d numbers; want %d numbers and a norm of at most %v", len(a.Centre),
			problem.D, bound)
	}
	switch kind := a.Second; kind {
	case "":
	case engine.NoSecond.String():
		c.Kind = engine.NoSecond
	case engine.DiagonalSecond.String(), engine.FullSecond.String():
		c.Kind = engine.DiagonalSecond
		if kind == engine.FullSecond.String() {
			c.Kind = engine.FullSecond
		}
		if c.Second == 0 {
			c.Second = 0.25
		}
	default:
		return bad("second moments %q are unknown, want none, diagonal or full", kind)
	}
	if a.Steps != 0 || a.StepShare > 0 {
		if err := a.checkSteps(s, c.Kind); err != nil {
			return bad("%w", err)
		}
		left := 1 - c.Count - c.Centre
		part := stepPart(momentsSignal(problem.N, problem.D, s.Budget))
		if a.StepShare > 0 {
			part = a.StepShare / left
		}
		c.Steps, c.Second = part*left, c.Second*(1-part)
	}
	c.Clip *= bound
	for _, o := range []struct {
		option float64
		to     *float64
	}{{a.CountShare, &c.Count}, {a.CentreShare, &c.Centre}, {a.SecondShare, &c.Second}, {a.ClipRadius, &c.Clip}, {a.Ridge, &c.Ridge}} {
		if o.option > 0 {
			*o.to = o.option
		}
	}
	switch {
	case a.CountShare > 0 && a.Balance > 0:
		return bad("a public share of positives costs no budget; leave out the budget share for the number of " +
			"positives")
	case a.CentreShare > 0 && a.Centre != nil:
		return bad("a public centre costs no budget; leave out the budget share of the centre, or the public centre")
	case a.SecondShare > 0 && c.Kind == engine.NoSecond:
		return bad("no second moments are released, but they have a budget share; choose diagonal or full second " +
			"moments")
	case (a.Ridge > 0 || s.L2 > 0) && c.Kind == engine.NoSecond:
		return bad("a ridge or an L2 term needs second moments; choose diagonal or full second moments, or leave " +
			"ridge and L2 out")
	}
	if err := a.checkAppended(c.Kind, a.Steps, problem.D); err != nil {
		return bad("%w", err)
	}
	if a.Balance > 0 {
		c.Count = 0
	}
	if a.Centre != nil {
		c.Centre = 0
	}
	if c.Kind == engine.NoSecond {
		c.Second = 0
	}
	// The share of an omitted release goes to the signed sum.
	if !(c.Count+c.Centre+c.Second+c.Steps < 1) || c.Second < 0 {
		return bad("the shares of count (%v), centre (%v), second moments (%v) and steps (%v) leave no share for "+
			"the signed sum; lower a share", c.Count, c.Centre, c.Second, c.Steps)
	}
	if c.Kind == engine.FullSecond && problem.D > maxFullMoments {
		return bad("there are %d features, but full second moments take at most %d; choose diagonal or none",
			problem.D, maxFullMoments)
	}
	return c, nil
}

// origin reports whether the origin is declared as the centre.
func (a Moments) origin() bool { return len(a.Centre) == 1 && a.Centre[0] == 0 }

// releases returns the calibrated releases, and the plan of the computations on them. The releases more follow,
// with shares of the whole budget; the moments share the rest of the budget.
func (a Moments) releases(s Spec, kernel engine.Kernel, c momentsChoice,
	more ...Release) (*MomentsPlan, Releases, error) {
	m, rows, levels, err := a.rows(s, kernel, c)
	if err != nil {
		return nil, nil, err
	}
	left := 1.0
	for _, r := range more {
		left -= r.Share
	}
	for i := range rows {
		rows[i].Share *= left
	}
	rows = append(rows, more...)
	if err := rows.Calibrate(s.Budget); err != nil {
		return nil, nil, err
	}
	levels(rows)
	return m, rows, nil
}

// rows returns the releases before their noise is calibrated. levels fills in the fields of m that depend on the noise.
func (a Moments) rows(s Spec, kernel engine.Kernel,
	c momentsChoice) (m *MomentsPlan, rows Releases, levels func(Releases), err error) {
	problem := s.Kernel.Problem()
	n, d, bound := float64(problem.N), problem.D, problem.Bounds.FeatureNorm
	m = &MomentsPlan{Passes: 1 + a.Steps, Steps: a.Steps, CentreReleased: c.Centre > 0, Balance: a.Balance,
		ClipRadius: c.Clip, Second: c.Kind}
	if !a.origin() {
		m.Centre = slices.Clone(a.Centre)
	}
	// Queries that an evaluator would refuse after the charge are refused before the charge.
	sums := engine.Query{Centre: m.Centre, Radius: m.ClipRadius, Second: m.Second}
	if err = sums.Validate(d, problem.Bounds); err != nil {
		return nil, nil, nil, Refused("moments", ": %w", err)
	}
	var noise []*float64 // pointers to the noise fields of the rows
	add := func(name string, coordinates int, share float64, level *float64, c privacy.Certificate, e error) {
		err, noise = errors.Join(err, e), append(noise, level)
		rows = append(rows, Release{Name: name, Coordinates: coordinates, Share: share, Certificate: c})
	}
	if c.Count > 0 || c.Centre > 0 {
		m.Passes++
		e := kernel.Bounds(engine.Query{Radius: bound})
		if c.Count > 0 {
			certificate, err := privacy.PositiveCount{Error: e.Positives}.Certify()
			add(countName, 1, c.Count, &m.CountNoise, certificate, err)
		}
		if c.Centre > 0 {
			certificate, err := privacy.RecordSum{Radius: bound, Weight: 1, Error: e.Sum, Name: "sum of records"}.Certify()
			add(centreName, d, c.Centre, &m.CentreNoise, certificate, err)
		}
	}
	e := kernel.Bounds(sums)
	rest := 1 - c.Count - c.Centre - c.Steps
	// whole is the rounding error of a joint release
	whole, joint := e.Sum, c.Kind != engine.NoSecond && s.Budget.Delta > 0
	if joint {
		// h follows from the shares that separate releases would have, (2 R/sigma)^2 and (sqrt 2 R^2/sigma)^2.
		m.Scale = math.Sqrt(2*c.Second/(rest-c.Second)) / c.Clip
		// Multiplication by h rounds a vector of norm at most n R^2 + rho once more.
		second := m.Scale * (e.Second + 0x1p-53*(n*c.Clip*c.Clip+e.Second)) * (1 + 0x1p-40)
		whole = math.Hypot(e.Sum, second) * (1 + 0x1p-40)
	}
	switch {
	case len(problem.Groups) > 0:
		m.Group, _ = engine.Together(problem)
		m.Balance = 0
		certificate, err := privacy.GroupMoments{Radius: c.Clip, Scale: m.Scale, Group: m.Group, Error: whole}.Certify()
		add(groupName, d+c.Kind.Len(d), rest, &m.SumNoise, certificate, err)
	case joint:
		certificate, err := privacy.JointMoments{Radius: c.Clip, Weight: 1, Scale: m.Scale, Error: whole}.Certify()
		add(jointName, d+c.Kind.Len(d), rest, &m.SumNoise, certificate, err)
	default:
		certificate, err := privacy.RecordSum{Radius: c.Clip, Weight: 1, Error: e.Sum, Name: "signed sum"}.Certify()
		add(signedName, d, rest-c.Second, &m.SumNoise, certificate, err)
		if c.Kind != engine.NoSecond {
			certificate, err := privacy.SecondMomentSum{Radius: c.Clip, Dim: d, Error: e.Second}.Certify()
			add(secondName, c.Kind.Len(d), c.Second, &m.SecondNoise, certificate, err)
		}
	}
	for i := range a.Steps {
		certificate, err := privacy.RecordSum{Radius: c.Clip, Weight: 1, Error: e.Sum, Name: stepName}.Certify()
		add(fmt.Sprintf("%s %d", stepName, i+1), d, c.Steps/float64(a.Steps), &m.StepNoise, certificate, err)
	}
	return m, rows, func(rows Releases) {
		for i, level := range noise {
			*level = rows[i].Deviation()
		}
		if m.Scale > 0 {
			m.SecondNoise = m.SumNoise / m.Scale
		}
		m.Ridge = c.Ridge * m.SecondNoise
		if c.Kind == engine.FullSecond {
			m.Ridge *= math.Sqrt(float64(d))
		}
		// The L2 term alpha/2 ||w||^2 is added to the mean over pairs of (w.(x-x') - (y-y')/2)^2. The matrix of
		// this mean is 2 Cov, and 2 M/n if the centre is the mean. Together the matrix is 4 M/n + alpha.
		m.Ridge += s.L2 * pairWeight(problem) / 2
	}, err
}

// guarantee describes the releases and the derivation of their guarantee.
func (m *MomentsPlan) guarantee(rows Releases, persons bool) (released, derivation string) {
	theory := "docs/theory.md#released-centre"
	if m.Group > 0 {
		theory = "docs/theory.md#group-moments"
	}
	if m.Steps > 0 {
		theory += ", docs/theory.md#damped-steps"
	}
	if persons && m.Group > 0 {
		theory += "; the term of two persons is the mean over their pairs of rows: docs/theory.md#person-moments"
	} else if persons {
		theory += "; a person counts as the mean over its rows: docs/theory.md#person-moments"
	}
	if c := m.Pairs; c != nil {
		rows = slices.Clone(rows)
		rows[c.Rows-c.First.Steps].Name = fmt.Sprintf("%s: %d times the %s", beforePairs, c.First.Steps, stepName)
		rows = slices.Delete(rows, c.Rows-c.First.Steps+1, c.Rows)
	}
	if same := m.Steps + m.Gradients; same > 0 { // gradients are alike
		rows = slices.Clone(rows[:len(rows)-same+1])
		rows[len(rows)-1].Name = fmt.Sprintf("%d mean gradients", m.Gradients)
		if m.Steps > 0 {
			rows[len(rows)-1].Name = fmt.Sprintf("%d times the %s", m.Steps, stepName)
		}
	}
	released, derivation = rows.Told()
	released += ", each with " + rows[0].Noise.Name() + " noise"
	if m.Pairs != nil {
		released += ", and the choice by the exponential mechanism"
		theory += ", docs/theory.md#pair-choice"
	}
	return released,
		derivation + "; the budget shares are fixed beforehand and each certificate holds given the earlier " +
			"releases, so the releases compose (" + theory + ")"
}

// assumption lists the public values that replace releases.
func (m *MomentsPlan) assumption() string {
	text := fmt.Sprintf("public: the clip radius %.6g, the shares of the budget", m.ClipRadius)
	if !m.Classes {
		text += " and the ridge"
	}
	if m.Group > 0 {
		return text + "; the query groups, and the place of every record in its group"
	}
	if m.Balance > 0 {
		text += fmt.Sprintf("; the declared share of positives, %g", m.Balance)
	}
	switch {
	case m.CentreReleased:
	case m.Centre != nil:
		text += "; the declared centre"
	default:
		text += "; the centre (the origin)"
	}
	return text
}

// objective returns the values, to the last digit, that a resumed run must share with its first attempt and
// that events do not contain.
func (m *MomentsPlan) objective() string {
	if m.Classes {
		return fmt.Sprintf("clip radius %v, moments of both classes, centre released", m.ClipRadius)
	}
	if m.Group > 0 {
		return fmt.Sprintf("clip radius %v, second moments %v, ridge %v, within parts of %d records of query groups",
			m.ClipRadius, m.Second, m.Ridge, m.Group)
	}
	text := fmt.Sprintf("clip radius %v, second moments %v, ridge %v, share of positives %v, centre ", m.ClipRadius,
		m.Second, m.Ridge, m.Balance)
	if m.Steps > 0 {
		text = fmt.Sprintf("%d logistic steps, %s", m.Steps, text)
	}
	if c := m.Pairs; c != nil {
		text = fmt.Sprintf("%d of %d pairs (%.8x) by residuals, %s", c.Choose, len(c.Products),
			sha256.Sum256(fmt.Append(nil, c.Candidates)), text)
	}
	switch {
	case m.CentreReleased:
		return text + "released"
	case m.Centre == nil:
		return text + "the origin"
	}
	return text + fmt.Sprintf("%.8x", sha256.Sum256(fmt.Append(nil, m.Centre)))
}

// firstReleases returns the number of releases of the first of two passes. These releases are the count and the centre.
func (m *MomentsPlan) firstReleases() (n int) {
	if m.CountNoise > 0 {
		n++
	}
	if m.CentreReleased {
		n++
	}
	return n
}
