// Package account computes the joint privacy cost of releases of private data. An Event describes a release
// with public numbers only. An Accountant composes events. It returns an upper bound of epsilon or delta that
// includes rounding errors. There are the following accountants:
//
//	GDP    exact for Gaussian noise; pure releases by their epsilon or their mu
//	PLD    privacy loss distributions: the tightest, and the one for sampled batches
//	RDP    Renyi divergences
//	ZCDP   zero-concentrated differential privacy
//	Total  for plans and ledgers: GDP, and PLD as well if batches were drawn
//
// Encode and Decode convert events to and from the records of a ledger.
package account

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"dyad/privacy/internal/round"
)

// Event describes a release of a run. The description is complete, so an accountant can be written from
// it alone. The meaning of an event never changes. Only this package can define types of events.
//
// All code of an event is in one file. Every type of event has a method facts(), which returns the
// information that accountants, sessions and ledgers need. A method of the struct type "recorded"
// defines how ledgers write the event.
type Event interface {
	// String returns a line for reports.
	String() string
	// validate returns an error unless all numbers of the event itself are in range. Parts are validated
	// separately.
	validate() error
	facts() facts
}

// facts is the information about an event. An omitted field means that the information is not known, and code
// that needs it refuses the event. So an omission never makes an event cheaper.
type facts struct {
	shape shape
	parts []Event // parts of a composition, or of releases on disjoint records

	event Event // the event of one release, or of all releases if joint
	count int   // number of releases; for a joint event, the number that it covers
	joint bool  // mu and pure hold for all releases together

	relation Relation // relation of the neighbours; "" means ReplaceOne
	noise    *noise   // the added noise; needed for sampling
	mu       float64  // if positive, N(mu, 1) against N(0, 1) dominates the release
	pure     *purity  // epsilon of a pure release, or nil
	law      func() releaseLaw
	renyi    func(alpha float64) float64 // Renyi divergence of one release, rounded up
	noRenyi  string                      // reason if the divergence is not known
	known    Event                       // for a release about a secret batch: the release if the batch were known
	// stopped is true if the number of runs is secret. renyi is then much smaller than the divergence
	// that follows from mu.
	stopped bool
	barred  string // reason why no session can make the release, or ""
}

// shape determines how accountants compute the cost of an event from its facts.
type shape int

const (
	release    shape = iota // the cost follows from the bounds
	composed                // the costs of the parts add up
	parallel                // the cost is the largest cost of a part
	public                  // there is no cost
	nonPrivate              // there is no finite cost
)

// noise is the noise that a release adds to its query.
type noise struct {
	law                NoiseLaw
	sensitivity, scale float64
}

func (n noise) String() string {
	return fmt.Sprintf("%s(sensitivity %.6g, scale %.6g)", n.law, n.sensitivity, n.scale)
}

// textOf returns the noise of a release about a batch, for the text of the event.
func textOf(e Event) any {
	if n, err := noiseOf("", e); err == nil {
		return n
	}
	return e
}

// ratio is an upper bound of sensitivity/scale.
func (n noise) ratio() float64 { return round.Up(n.sensitivity/n.scale, 1) }

// muOf returns sensitivity/sigma for facts, where 0 would mean that mu is not known.
func muOf(sensitivity, sigma float64) float64 {
	return max(sensitivity/sigma, math.SmallestNonzeroFloat64)
}

// purity is a pure epsilon. If ops > 0, epsilon approximates the true value with ops roundings. If ops = 0,
// epsilon is the true value.
type purity struct {
	epsilon float64
	ops     int
}

// one returns the epsilon of one release.
func (p *purity) one() float64 {
	if p.ops == 0 || p.epsilon == 0 {
		return p.epsilon
	}
	return round.Up(p.epsilon, p.ops)
}

// times returns the epsilon of n releases by basic composition, rounded up, or +Inf if there is none.
func (p *purity) times(n int) float64 {
	switch {
	case p == nil:
		return math.Inf(1)
	case p.epsilon == 0:
		return 0
	}
	return round.Up(float64(n)*p.epsilon, max(1, p.ops))
}

// times returns how often the cost of the facts counts.
func (f facts) times() int {
	if f.joint {
		return 1
	}
	return f.count
}

// repeatable reports whether a composition may count the event several times.
func (f facts) repeatable() bool { return f.shape == release && f.count == 1 && !f.joint }

// neighbours returns the relation, or "" if the event has the same cost for both relations.
func (f facts) neighbours() Relation {
	switch {
	case f.shape == nonPrivate:
		return ""
	case f.relation == "":
		return ReplaceOne
	}
	return f.relation
}

// joinRelation returns the relation of a composition of relation r after the event is added. Neighbours of
// one relation are not neighbours of the other relation, so costs of different relations do not add up.
func (f facts) joinRelation(r Relation) (Relation, error) {
	switch other := f.neighbours(); {
	case other == "" || other == r:
		return r, nil
	case r == "":
		return other, nil
	default:
		return r, fmt.Errorf("%w: the relation of the event is %s, but the relation of the earlier events is %s",
			ErrUnsupported, other, r)
	}
}

func (f facts) unsupported() error { return fmt.Errorf("%w: %T", ErrUnsupported, f.event) }

// describe returns the facts of an event, if the event is of this package and in range. An interface alone
// does not seal a type: a struct of another package that embeds an Event has the methods of the Event, and
// could replace some of them.
func describe(e Event) (facts, error) {
	if t := reflect.TypeOf(e); t == nil || t.PkgPath() != reflect.TypeFor[PublicEvent]().PkgPath() {
		return facts{}, fmt.Errorf("%w: %T", ErrUnsupported, e)
	}
	if err := e.validate(); err != nil {
		return facts{}, err
	}
	f := e.facts()
	if f.event == nil || f.shape == release && f.count < 1 {
		return facts{}, fmt.Errorf("%w: %T does not state the number of its releases", ErrUnsupported, e)
	}
	return f, nil
}

// each calls visit for every part, in order. An error of visit is returned with the number of its part.
func each(parts []Event, visit func(Event) error) error {
	for i, part := range parts {
		if err := visit(part); err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
	}
	return nil
}

// leaves calls add for every event of e that is not composed, in order, and stops at the first error. It
// omits public releases and refuses parallel events.
func leaves(e Event, add func(facts) error) error {
	f, err := describe(e)
	if err != nil {
		return err
	}
	switch f.shape {
	case public:
		return nil
	case composed:
		return each(f.parts, func(e Event) error { return leaves(e, add) })
	case parallel:
		return f.unsupported()
	}
	return add(f)
}

// Release is one kind of release in an event, with the number of such releases that a session may make.
type Release struct {
	// Event describes one release, as its mechanism defines it. A joint event stands for all its releases
	// together, and a plan can contain it only once.
	Event Event
	Count int  // Count is the number of releases, or 0 for a PublicEvent or a NonPrivateEvent, which have no noise.
	Joint bool // Joint reports whether Event is a joint event.
}

// Releases calls yield for every kind of release in e. It returns an error if an event is out of range, if no
// session can make a release of e, or if yield returns an error.
func Releases(e Event, yield func(Release) error) error { return releases(e, yield, 0) }

func releases(e Event, yield func(Release) error, depth int) error {
	if depth > MaxDepth {
		return errDepth
	}
	f, err := describe(e)
	switch {
	case err != nil:
		return err
	case f.shape == composed || f.shape == parallel:
		for _, part := range f.parts {
			if err := releases(part, yield, depth+1); err != nil {
				return err
			}
		}
		return nil
	case f.barred != "":
		return fmt.Errorf("account: %v cannot be released in a session: %s", e, f.barred)
	}
	return yield(Release{Event: f.event, Count: f.count, Joint: f.joint})
}

// RepeatedEvent is an event of Count adaptive releases of one kind, each with independent randomness. The
// function Repeat makes such an event.
type RepeatedEvent struct {
	Event Event // Event is one release; it is not joint, composed, parallel, public or non-private.
	Count int   // Count is >= 1.
}

// Repeat returns the event of several adaptive releases: `count` is their number, and `one` is the event
// of each of them. If `one` is not the event of a single release, Repeat returns a ComposedEvent.
func Repeat(one Event, count int) Event {
	if count == 1 {
		return one
	}
	if f, err := describe(one); err == nil && !f.repeatable() && count > 0 {
		return ComposedEvent{Events: slices.Repeat([]Event{one}, count)}
	}
	return RepeatedEvent{Event: one, Count: count}
}

// String returns the text of one release, followed by the count.
func (e RepeatedEvent) String() string {
	return fmt.Sprintf("%s x %d", strings.TrimSuffix(fmt.Sprint(e.Event), " x 1"), e.Count)
}

func (e RepeatedEvent) validate() error {
	if e.Count < 1 {
		return fmt.Errorf("account: the count of %v is %d, but must be at least 1", e.Event, e.Count)
	}
	f, err := describe(e.Event)
	if _, nested := e.Event.(RepeatedEvent); err == nil && (nested || !f.repeatable()) {
		return fmt.Errorf("account: %v is not a single release, so RepeatedEvent cannot repeat it; list it in a "+
			"ComposedEvent", e.Event)
	}
	return err
}

func (e RepeatedEvent) facts() facts {
	f := e.Event.facts()
	f.count = e.Count
	return f
}

// NonPrivateEvent is a release of private data without noise. It has no finite epsilon.
type NonPrivateEvent struct{}

// String returns "non-private release".
func (NonPrivateEvent) String() string  { return "non-private release" }
func (NonPrivateEvent) validate() error { return nil }
func (e NonPrivateEvent) facts() facts  { return facts{shape: nonPrivate, event: e} }
func (recorded) NonPrivate() kind       { return record[NonPrivateEvent]("non-private") }

// PublicEvent is a release that is computed from public data. It has no privacy cost.
type PublicEvent struct{}

// String returns "release of public data".
func (PublicEvent) String() string  { return "release of public data" }
func (PublicEvent) validate() error { return nil }
func (e PublicEvent) facts() facts  { return facts{shape: public, event: e} }
func (recorded) Public() kind       { return record[PublicEvent]("public") }

// ComposedEvent is the adaptive composition of its parts, in any order.
type ComposedEvent struct{ Events []Event }

// String returns a list of the parts.
func (e ComposedEvent) String() string {
	s := "composition of"
	for i, p := range e.Events {
		if i > 0 {
			s += ","
		}
		s += " " + p.String()
	}
	return s
}

func (ComposedEvent) validate() error { return nil }
func (e ComposedEvent) facts() facts {
	return facts{shape: composed, event: e, parts: e.Events}
}
func (recorded) Composed() kind {
	return container[ComposedEvent]("composed", func(parts []Event) Event { return ComposedEvent{Events: parts} })
}

func positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("account: %s is %v, must be positive and finite", name, v)
	}
	return nil
}

// addUp adds two nonnegative numbers and rounds up. Adding 0 changes nothing.
func addUp(a, b float64) float64 {
	if b == 0 {
		return a
	}
	if a == 0 {
		return b
	}
	return round.Up(a+b, 1)
}
