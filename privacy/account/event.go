// Package account computes the joint cost of releases of private data. An Event describes
// a release, with public numbers only; an Accountant composes events and answers with an
// upper bound of epsilon or delta, roundoff included:
//
//	GDP    exact for Gaussian noise; pure releases by their epsilon or their mu
//	PLD    privacy loss distributions: the tightest, and the one for sampled batches
//	RDP    Renyi divergences
//	ZCDP   zero-concentrated differential privacy
//	Total  what plans and ledgers use: GDP, and PLD as well where batches were drawn
//
// Encode and Decode are the record of an event in a ledger.
package account

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"dyad/privacy/internal/round"
)

// Event describes what a run releases, completely enough that an accountant can
// be written without knowing any other implementation. The meaning of an event
// never changes. It is sealed.
//
// An event is one file: its type says in facts what accountants, sessions and ledgers have to
// know, and a method of recorded how ledgers write it.
type Event interface {
	// String is one line for reports.
	String() string
	// validate returns an error unless all numbers of the event itself are in range; parts
	// are looked at one by one.
	validate() error
	facts() facts
}

// facts are what an event says of itself. What it leaves out is not known, and whoever needs
// it refuses the event: nothing that is forgotten here makes an event cheaper.
type facts struct {
	shape shape
	parts []Event // of a composition or of releases on disjoint records

	event Event // one release; of a joint event all of it
	count int   // how many of them; of a joint event how many releases it covers
	joint bool  // mu and pure hold for all releases together

	relation Relation // of the neighbours; "" means ReplaceOne
	noise    *noise   // what is added; sampling needs to know
	mu       float64  // > 0: the release is dominated by N(mu, 1) against N(0, 1)
	pure     *purity  // the release is pure
	law      func() releaseLaw
	renyi    func(alpha float64) float64 // divergence of one release, rounded up
	noRenyi  string                      // why it is not known, if it could be
	known    Event                       // of a release about a secret batch: if the batch were known
	stopped  bool                        // the number of runs is secret, and renyi is much less than that of mu
	barred   string                      // why no session can make the release, "" if one can
}

// shape is how the cost of an event follows from facts.
type shape int

const (
	release    shape = iota // from its bounds
	composed                // the parts add up
	parallel                // the costliest part
	public                  // nothing
	nonPrivate              // no finite cost
)

// noise is what a release adds to its query.
type noise struct {
	law                NoiseLaw
	sensitivity, scale float64
}

func (n noise) String() string {
	return fmt.Sprintf("%s(sensitivity %.6g, scale %.6g)", n.law, n.sensitivity, n.scale)
}

// textOf is the noise of a release about a batch, for its text.
func textOf(e Event) any {
	if n, err := noiseOf("", e); err == nil {
		return n
	}
	return e
}

// ratio is an upper bound of sensitivity/scale.
func (n noise) ratio() float64 { return round.Up(n.sensitivity/n.scale, 1) }

// muOf is sensitivity/sigma for facts, where 0 would mean that it is not known.
func muOf(sensitivity, sigma float64) float64 {
	return max(sensitivity/sigma, math.SmallestNonzeroFloat64)
}

// purity is a pure epsilon: that of the real number which epsilon approximates after ops
// roundings, or epsilon itself for ops = 0.
type purity struct {
	epsilon float64
	ops     int
}

// one is the epsilon of one release.
func (p *purity) one() float64 {
	if p.ops == 0 || p.epsilon == 0 {
		return p.epsilon
	}
	return round.Up(p.epsilon, p.ops)
}

// times is the epsilon of n releases by basic composition, rounded up, or +Inf if there is
// none.
func (p *purity) times(n int) float64 {
	switch {
	case p == nil:
		return math.Inf(1)
	case p.epsilon == 0:
		return 0
	}
	return round.Up(float64(n)*p.epsilon, max(1, p.ops))
}

// times is how often the cost of the facts counts.
func (f facts) times() int {
	if f.joint {
		return 1
	}
	return f.count
}

// repeatable reports whether several releases of the kind can be counted.
func (f facts) repeatable() bool { return f.shape == release && f.count == 1 && !f.joint }

// neighbours is the relation, "" if the event has the same cost for both.
func (f facts) neighbours() Relation {
	switch {
	case f.shape == nonPrivate:
		return ""
	case f.relation == "":
		return ReplaceOne
	}
	return f.relation
}

// joinRelation returns the relation of a composition that had relation r when an event is
// added: neighbours of one relation are not neighbours of the other, so the costs of
// different relations do not add up.
func (f facts) joinRelation(r Relation) (Relation, error) {
	switch other := f.neighbours(); {
	case other == "" || other == r:
		return r, nil
	case r == "":
		return other, nil
	default:
		return r, fmt.Errorf("%w: it is %s, what was composed before is %s", ErrUnsupported, other, r)
	}
}

func (f facts) unsupported() error { return fmt.Errorf("%w: %T", ErrUnsupported, f.event) }

// describe is the entrance to an event: its facts, if it is one of this package and in range.
// An interface alone is not a seal: a struct of another package that embeds an Event has its
// methods, and could replace some of them.
func describe(e Event) (facts, error) {
	if t := reflect.TypeOf(e); t == nil || t.PkgPath() != reflect.TypeFor[PublicEvent]().PkgPath() {
		return facts{}, fmt.Errorf("%w: %T", ErrUnsupported, e)
	}
	if err := e.validate(); err != nil {
		return facts{}, err
	}
	f := e.facts()
	if f.event == nil || f.shape == release && f.count < 1 {
		return facts{}, fmt.Errorf("%w: %T does not state how often it is released", ErrUnsupported, e)
	}
	return f, nil
}

// each calls visit for every part, in order, and says which part an error is about.
func each(parts []Event, visit func(Event) error) error {
	for i, part := range parts {
		if err := visit(part); err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
	}
	return nil
}

// leaves calls add for every event of e that is not composed, in order, and stops
// at the first error. It leaves out public releases and refuses parallel ones.
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

// Release describes the releases that a session may make for an event.
type Release struct {
	// Event describes one release, as its mechanism states it. A joint event stands for all
	// of its releases together, and can be planned once.
	Event Event
	Count int // 0 for a PublicEvent and a NonPrivateEvent, which have no noise
	Joint bool
}

// Releases calls yield for every kind of release that e lists. It fails for events out of
// range, for those that no session can carry out, and if yield does.
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
		return fmt.Errorf("account: no session can release %v: %s", e, f.barred)
	}
	return yield(Release{Event: f.event, Count: f.count, Joint: f.joint})
}

// RepeatedEvent is Count adaptive releases of one kind, each with coins of its own. Repeat
// makes it.
type RepeatedEvent struct {
	Event Event // of one release: no joint, composed, parallel, public or non-private event
	Count int   // >= 1
}

// Repeat is count adaptive releases of an event, a ComposedEvent if it is not one release.
func Repeat(one Event, count int) Event {
	if count == 1 {
		return one
	}
	if f, err := describe(one); err == nil && !f.repeatable() && count > 0 {
		return ComposedEvent{Events: slices.Repeat([]Event{one}, count)}
	}
	return RepeatedEvent{Event: one, Count: count}
}

// String describes one release, with the count at its end.
func (e RepeatedEvent) String() string {
	return fmt.Sprintf("%s x %d", strings.TrimSuffix(fmt.Sprint(e.Event), " x 1"), e.Count)
}

func (e RepeatedEvent) validate() error {
	if e.Count < 1 {
		return fmt.Errorf("account: count of %v is %d, must be at least 1", e.Event, e.Count)
	}
	f, err := describe(e.Event)
	if _, nested := e.Event.(RepeatedEvent); err == nil && (nested || !f.repeatable()) {
		return fmt.Errorf("account: %v is not one release that can be repeated; list it in a ComposedEvent", e.Event)
	}
	return err
}

func (e RepeatedEvent) facts() facts {
	f := e.Event.facts()
	f.count = e.Count
	return f
}

// NonPrivateEvent is a release of private data without noise: no finite epsilon.
type NonPrivateEvent struct{}

// String returns "non-private release".
func (NonPrivateEvent) String() string  { return "non-private release" }
func (NonPrivateEvent) validate() error { return nil }
func (e NonPrivateEvent) facts() facts  { return facts{shape: nonPrivate, event: e} }
func (recorded) NonPrivate() kind       { return record[NonPrivateEvent]("non-private") }

// PublicEvent is a release computed from public data: it costs nothing.
type PublicEvent struct{}

// String returns "release of public data".
func (PublicEvent) String() string  { return "release of public data" }
func (PublicEvent) validate() error { return nil }
func (e PublicEvent) facts() facts  { return facts{shape: public, event: e} }
func (recorded) Public() kind       { return record[PublicEvent]("public") }

// ComposedEvent is the adaptive composition of its parts, in any order.
type ComposedEvent struct{ Events []Event }

// String lists the parts.
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

// addUp adds two nonnegative numbers, rounded up; adding 0 changes nothing.
func addUp(a, b float64) float64 {
	if b == 0 {
		return a
	}
	if a == 0 {
		return b
	}
	return round.Up(a+b, 1)
}
