package privacy

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"dyad/privacy/account"
)

// releasePlan counts the releases that a session may still make.
type releasePlan struct {
	left       map[account.Event]int // releases left, by the event of a mechanism and a certificate
	planned    map[account.Event]int
	order      []account.Event // the events of the plan, each once
	nonPrivate bool            // the plan has a NonPrivateEvent
	public     bool            // the plan has a PublicEvent
	exact      bool            // ReleaseExact is allowed
}

func newReleasePlan(events []account.Event) (releasePlan, error) {
	p := releasePlan{left: map[account.Event]int{}, planned: map[account.Event]int{}}
	if len(events) == 0 {
		return p, errors.New("privacy: the plan has no events, so nothing could be released")
	}
	for _, e := range events {
		if err := account.Releases(e, p.add); err != nil {
			return p, err
		}
	}
	return p, nil
}

// add adds the releases that a mechanism may make for the event.
func (p *releasePlan) add(r account.Release) error {
	switch one := r.Event; {
	case one == account.NonPrivateEvent{}:
		p.nonPrivate = true
		return nil
	case one == account.PublicEvent{}:
		p.public = true
		return nil
	case r.Joint && p.planned[one] > 0:
		return fmt.Errorf("privacy: the plan lists %v twice; list it only once, because one entry covers all its "+
			"releases", one)
	case r.Count > math.MaxInt-p.left[one]:
		return fmt.Errorf("privacy: the plan has too many releases of %v", one)
	case p.planned[one] == 0:
		p.order = append(p.order, one)
	}
	p.left[r.Event] += r.Count
	p.planned[r.Event] += r.Count
	return nil
}

// take uses up one planned release or one planned hidden step. The event of m and c must equal the planned
// event in all its numbers. The last hidden step counts as a release.
func (p *releasePlan) take(m Mechanism, c Certificate, hidden bool) error {
	if !known(m) {
		return fmt.Errorf("%w: the noise has type %T, want Gaussian, Laplace or KNorm", ErrUnplanned, m)
	}
	e := m.Event(c)
	switch left, planned := p.left[e]; {
	case !planned:
		return fmt.Errorf("%w: %v is not in the plan", ErrUnplanned, e)
	case left == 0:
		return fmt.Errorf("%w: all planned releases of %v were already made", ErrUnplanned, e)
	case hidden && left == 1:
		return fmt.Errorf("%w: the last step of %v must be a release", ErrUnplanned, e)
	case !hidden && left > 1 && c.HiddenSteps() > 0:
		return fmt.Errorf("%w: %v is released before its last step; %d steps are left", ErrUnplanned, e, left-1)
	}
	if hidden && c.HiddenSteps() == 0 {
		return fmt.Errorf("%w: %v has no hidden steps", ErrUnplanned, e)
	}
	p.left[e]--
	return nil
}

// use uses up one planned release that is not made by a mechanism.
func (p *releasePlan) use(e account.Event) error {
	if p.left[e] == 0 {
		return fmt.Errorf("%w: %v is not in the plan or was released already", ErrUnplanned, e)
	}
	p.left[e]--
	return nil
}

// Receipt describes the ledger entry that charges a session.
type Receipt struct {
	Run      string
	Seq      int // Seq is the line of the charge in the ledger, or 0 without a charge.
	Warnings []string
	// Notes are for the owner of the data alone. They compare the records with the records of earlier runs, without noise,
	// so no result of a run may contain them.
	Notes []string
}

// SeededWarning is the warning for a run whose noise comes from a seed.
const SeededWarning = "reproducible, noise is not secret"

// LiveSession makes the releases of one plan and no other releases. NewSession and NewPublicSession return
// a LiveSession. Before NewSession returns, it charges the plan. Several goroutines may call its methods.
// As long as the session is in use, the Source must not be used elsewhere.
type LiveSession struct {
	mu      sync.Mutex
	src     *Source
	plan    releasePlan
	receipt Receipt
	closed  bool
	drawn   batch // the last batch; a release about a batch uses it up
}

var _ Session = (*LiveSession)(nil)

// NewSession returns a session that may make the releases of a plan and no other releases. It first checks
// that a session can carry out the plan, and then calls charge once to record the cost of the plan. charge
// must return nil only if the charge is durable. Programs usually call Begin or Resume of package ledger
// instead of NewSession. These two functions satisfy this condition. On any error, NewSession returns no
// session, and nothing can have been released.
func NewSession(src *Source, events []account.Event, charge func() (Receipt, error)) (*LiveSession, error) {
	plan, err := checkSession(src, events)
	if err != nil {
		return nil, err
	}
	plan.exact = plan.nonPrivate
	receipt, err := charge()
	if err != nil {
		return nil, err
	}
	return &LiveSession{src: src, plan: plan, receipt: receipt}, nil
}

func checkSession(src *Source, events []account.Event) (releasePlan, error) {
	if !src.usable() {
		return releasePlan{}, errNoSource
	}
	return newReleasePlan(events)
}

// NewPublicSession returns a session for data that the user declared public as a whole. The session makes no
// charge. The plan still applies: releases get the same noise and the same checks as on private data, and
// ReleaseExact requires a PublicEvent or a NonPrivateEvent in the plan.
func NewPublicSession(src *Source, events []account.Event) (*LiveSession, error) {
	plan, err := checkSession(src, events)
	if err != nil {
		return nil, err
	}
	plan.exact = plan.nonPrivate || plan.public
	warnings := []string{"the data are declared public, so no budget was charged"}
	if !src.Secret() {
		warnings = append(warnings, SeededWarning)
	}
	return &LiveSession{src: src, plan: plan, receipt: Receipt{Warnings: warnings}}, nil
}

// Receipt returns a description of the session's charge, with the warnings that a program should show.
func (s *LiveSession) Receipt() Receipt { return s.receipt }

// Permutation implements Session by Source.Permutation.
func (s *LiveSession) Permutation(n int) []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Permutation(n)
}

// UniformBall implements Session by Source.UniformBall.
func (s *LiveSession) UniformBall(dst []float64, radius float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.src.UniformBall(dst, radius)
}

// Sample implements Session by Source.Sample.
func (s *LiveSession) Sample(order []int32, m int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.src.Sample(order, m); err != nil {
		return err
	}
	s.drawn = batch{size: m, records: len(order)}
	return nil
}

// SamplePoisson implements Session by Source.SamplePoisson.
func (s *LiveSession) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dst, err := s.src.SamplePoisson(dst, n, rate)
	if err == nil {
		s.drawn = batch{records: n, rate: rate}
	}
	return dst, err
}

// Release implements Session. m.Event(c) must equal, in all numbers, a planned release that was not made
// yet. A release about a batch also requires that a batch was drawn, as planned, since the last release.
// Release then adds the noise of m to x and marks the planned release as made. If a condition is not met,
// or after Close, it sets x to zero and returns an error that wraps ErrUnplanned. If x is not finite, it
// sets x to zero, marks the planned release as made, and returns an error that describes the problem.
func (s *LiveSession) Release(x []float64, c Certificate, m Mechanism) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(x, c, m, false)
}

// HiddenStep implements Session.
func (s *LiveSession) HiddenStep(x []float64, c Certificate, m Mechanism) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(x, c, m, true)
}

func (s *LiveSession) add(x []float64, c Certificate, m Mechanism, hidden bool) error {
	err := s.open()
	if b, sampled := c.sampled(); err == nil && sampled && s.drawn != b {
		err = fmt.Errorf("%w: draw a new batch of the %d records before each release, with Sample or SamplePoisson "+
			"as planned", ErrUnplanned, b.records)
	}
	s.drawn = batch{}
	if err == nil {
		err = s.plan.take(m, c, hidden)
	}
	if err == nil {
		if h := c.hidden(); h.steps > 0 {
			RoundToGrid(x, h.grid)
		}
		err = m.add(x, s.src)
	}
	if err != nil {
		clear(x)
	}
	return err
}

// ReleaseExact implements Session. It is allowed if the plan contains a NonPrivateEvent, which makes the
// total cost of the data id infinite. In a session from NewPublicSession, a PublicEvent allows it as well.
// The number of exact releases is not limited. If x is not finite, ReleaseExact sets x to zero and returns an
// error.
func (s *LiveSession) ReleaseExact(x []float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.open()
	if err == nil && !s.plan.exact {
		err = fmt.Errorf("%w: the plan does not allow releases without noise", ErrUnplanned)
	}
	for i := 0; i < len(x) && err == nil; i++ {
		if math.IsNaN(x[i]) || math.IsInf(x[i], 0) {
			err = errNotFinite
		}
	}
	if err != nil {
		clear(x)
	}
	return err
}

// Releases returns the number of releases of each kind that were made or skipped, in the order of the plan.
func (s *LiveSession) Releases() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := make([]int, len(s.plan.order))
	for i, e := range s.plan.order {
		made[i] = s.plan.planned[e] - s.plan.left[e]
	}
	return made
}

// Skip counts planned releases as made, without noise, because an earlier session made them for the same
// plan. The argument is the result of Releases of the earlier session. If the plan has fewer releases
// left, Skip changes nothing and returns an error that wraps ErrUnplanned.
func (s *LiveSession) Skip(made []int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fits := len(made) == len(s.plan.order)
	for i := 0; fits && i < len(made); i++ {
		fits = made[i] >= 0 && made[i] <= s.plan.left[s.plan.order[i]]
	}
	if !fits {
		return fmt.Errorf("%w: Skip got %d counts for %d kinds of releases; give one count per kind, from 0 to its "+
			"remaining releases", ErrUnplanned, len(made), len(s.plan.order))
	}
	for i, e := range s.plan.order {
		s.plan.left[e] -= made[i]
	}
	return nil
}

// Close ends the session. Later releases fail with ErrUnplanned and are set to zero. The charge remains in
// the ledger, whether or not a result was released.
func (s *LiveSession) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *LiveSession) open() error {
	if s.closed {
		return fmt.Errorf("%w: the session is closed", ErrUnplanned)
	}
	return nil
}
