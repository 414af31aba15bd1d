package attack

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/privacy"
)

// The kinds of calls that an attack compares.
const (
	Release   = "release"
	Hidden    = "hidden"
	Choice    = "choice"
	Selection = "selection"
	Poisson   = "Poisson sample"
)

// ErrEnough ends a run after the number of releases that Recorder.Most allows.
var ErrEnough = errors.New("attack: enough releases")

// Violation is an error that describes a violated promise which an attack found.
type Violation struct{ Reason string }

func (v Violation) Error() string { return "attack: " + v.Reason }

// Call is one request of an algorithm to its session.
type Call struct {
	Kind, Detail  string // Detail has sizes; neither Kind nor Detail may depend on data
	Certificate   privacy.Certificate
	Noise         privacy.Mechanism
	Before, After []float64 // the exact vector, which only an attack sees, and the released vector
	Order         []int32   // a permutation or a batch
	Scores        []int64   // the scores of the candidates of a choice
	Epsilon       float64   // the epsilon of a choice
	Mu            float64   // the planned mu of each run of a selection
	Runs          []Run     // the runs of a selection
	Chosen        int       // the chosen candidate of a choice or of a selection
	err           error     // the error of a selection
}

// Run is one run of a selection. The number of runs that count is secret, and so are all runs except the best one.
type Run struct {
	Candidate int
	Seen      *Recorder
	told      []float64
	failed    bool
}

// Recorder is a session that records every call.
type Recorder struct {
	privacy.Session
	// Coins, if set, provides the data-independent coins instead of the session.
	Coins *privacy.Source
	// Of is the recorded run that answers the calls of this replay. Of is nil while a run is recorded.
	Of *Recorder
	// Fresh makes the replay a run on the same data with different secret coins, so that the batches and the
	// noise of hidden steps differ.
	Fresh bool
	// Most is the number of releases after which the run ends with ErrEnough. If it is 0, the number is not limited.
	Most     int
	Calls    []Call
	released int
	err      error
}

// Fail records a violation. Only the first violation is kept.
func (r *Recorder) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = Violation{fmt.Sprintf(format, args...)}
	}
}

// Outcome returns the first violation of a replay. If there is no violation, it returns err, the error with which the
// replay ended. If Outcome returns nil, the replay made all the recorded calls.
func (r *Recorder) Outcome(err error) error {
	if r.err != nil {
		return r.err
	}
	if err == nil && r.Of != nil && len(r.Calls) != len(r.Of.Calls) {
		return Violation{fmt.Sprintf("the replay stops after %d of the %d recorded calls", len(r.Calls), len(r.Of.Calls))}
	}
	return err
}

// Made returns the calls of the given kinds.
func (r *Recorder) Made(kinds ...string) (all []Call) {
	for _, c := range r.Calls {
		if slices.Contains(kinds, c.Kind) {
			all = append(all, c)
		}
	}
	return all
}

// Both calls the function run twice. Both records the first call, on a data set (side 0), and replays this call on
// a neighbour (side 1). The error is a Violation if the second run makes other calls or returns other bits.
func Both(s privacy.Session, run func(side int, s privacy.Session) ([]float64,
	error)) (first, second *Recorder, err error) {
	first = &Recorder{Session: s}
	second = &Recorder{Session: s, Of: first}
	want, err := run(0, first)
	if err != nil {
		return first, second, err
	}
	got, err := run(1, second)
	if err == nil && !SameBits(got, want) {
		second.Fail("the result depends on an unreleased value")
	}
	return first, second, second.Outcome(err)
}

// SameBits reports whether two vectors are equal bit for bit.
func SameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// past returns the recorded call that answers c. It returns nil while a run is recorded and after a violation.
func (r *Recorder) past(c Call) *Call {
	if r.Of == nil {
		return nil
	}
	i := len(r.Calls)
	if i >= len(r.Of.Calls) {
		r.Fail("the replay makes a call that the recorded run did not make: %s %s", c.Kind, c.Detail)
		return nil
	}
	p := &r.Of.Calls[i]
	if p.Kind != c.Kind || p.Detail != c.Detail {
		r.Fail("call %d differs: %s %s on one data set, %s %s on its neighbour", i+1, p.Kind, p.Detail, c.Kind, c.Detail)
		return nil
	}
	return p
}

func (r *Recorder) note(c Call) { r.Calls = append(r.Calls, c) }

// Note records an event that is not a call of the session. A replay also compares it with the recorded event.
func (r *Recorder) Note(kind, detail string) {
	c := Call{Kind: kind, Detail: detail}
	r.past(c)
	r.note(c)
}

type coins interface {
	Permutation(n int) []int32
	Sample(order []int32, m int) error
	SamplePoisson(dst []int32, n int, rate float64) ([]int32, error)
	UniformBall(dst []float64, radius float64)
}

func (r *Recorder) coins() coins {
	if r.Coins != nil {
		return r.Coins
	}
	return r.Session
}

// Permutation implements privacy.Session.
func (r *Recorder) Permutation(n int) []int32 {
	c := Call{Kind: "permutation", Detail: fmt.Sprint(n)}
	if p := r.past(c); p != nil {
		c.Order = p.Order
	} else {
		c.Order = r.coins().Permutation(n)
	}
	r.note(c)
	return slices.Clone(c.Order)
}

// UniformBall implements privacy.Session.
func (r *Recorder) UniformBall(dst []float64, radius float64) {
	c := Call{Kind: "ball", Detail: fmt.Sprint(len(dst), radius)}
	if p := r.past(c); p != nil {
		copy(dst, p.After)
	} else {
		r.coins().UniformBall(dst, radius)
	}
	c.After = slices.Clone(dst)
	r.note(c)
}

// Sample implements privacy.Session.
func (r *Recorder) Sample(order []int32, m int) error {
	_, err := r.batch(Call{Kind: "sample", Detail: fmt.Sprint(len(order), m)}, order, func(s coins, order []int32) ([]int32, error) {
		return order, s.Sample(order, m)
	})
	return err
}

// SamplePoisson implements privacy.Session.
func (r *Recorder) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	return r.batch(Call{Kind: Poisson, Detail: fmt.Sprint(n, rate)}, dst, func(s coins, dst []int32) ([]int32, error) {
		return s.SamplePoisson(dst, n, rate)
	})
}

func (r *Recorder) batch(c Call, dst []int32, draw func(s coins, dst []int32) ([]int32, error)) ([]int32, error) {
	p := r.past(c)
	switch {
	case p == nil && r.Of != nil:
		return nil, r.err
	case p != nil && !r.Fresh:
		c.Order = p.Order
	default:
		if r.Coins != nil { // the session must be told of the batch
			if _, err := draw(r.Session, slices.Clone(dst)); err != nil {
				return nil, err
			}
		}
		drawn, err := draw(r.coins(), dst)
		if err != nil {
			return nil, err
		}
		c.Order = slices.Clone(drawn)
	}
	r.note(c)
	return append(dst[:0], c.Order...), nil
}

// HiddenStep implements privacy.Session. A replay adds the recorded noise to its own state x, so the two runs
// show how far their states drift apart. A replay with Fresh subtracts the recorded noise instead, which has
// the same law, because the law is symmetric.
func (r *Recorder) HiddenStep(x []float64, cert privacy.Certificate, m privacy.Mechanism) error {
	return r.noisy(Hidden, x, cert, m)
}

// Release implements privacy.Session.
func (r *Recorder) Release(x []float64, cert privacy.Certificate, m privacy.Mechanism) error {
	if err := r.noisy(Release, x, cert, m); err != nil {
		return err
	}
	if r.released++; r.Most > 0 && r.released >= r.Most {
		return ErrEnough
	}
	return nil
}

func (r *Recorder) noisy(kind string, x []float64, cert privacy.Certificate, m privacy.Mechanism) error {
	c := Call{Kind: kind, Detail: fmt.Sprint(len(x)), Certificate: cert, Noise: m, Before: slices.Clone(x)}
	p := r.past(c)
	if p != nil && (!p.Certificate.Equal(cert) || p.Noise != m) {
		r.Fail("the certificate or the noise of %s %d depends on the data", kind, len(r.Calls)+1)
	}
	var err error
	switch {
	case p == nil && r.Of != nil:
		clear(x)
		err = r.err
	case p == nil && kind == Hidden:
		err = r.Session.HiddenStep(x, cert, m)
	case p == nil:
		err = r.Session.Release(x, cert, m)
	case kind == Release:
		copy(x, p.After)
	default:
		before, sign := slices.Clone(p.Before), 1.0
		if r.Fresh {
			sign = -1
		}
		privacy.RoundToGrid(x, m.GridSize())
		privacy.RoundToGrid(before, m.GridSize())
		for k := range x {
			x[k] += sign * (p.After[k] - before[k])
		}
	}
	if err != nil {
		return err
	}
	c.After = slices.Clone(x)
	r.note(c)
	return nil
}

// ReleaseExact implements privacy.Session.
func (r *Recorder) ReleaseExact(x []float64) error {
	c := Call{Kind: "exact", Detail: fmt.Sprint(len(x)), After: slices.Clone(x)}
	if p := r.past(c); p != nil {
		copy(x, p.After)
	} else if r.Of != nil {
		return r.err
	} else if err := r.Session.ReleaseExact(x); err != nil {
		return err
	}
	r.note(c)
	return nil
}

// Choose implements privacy.Session.
func (r *Recorder) Choose(scores []int64, cert privacy.Certificate, epsilon float64) (int, error) {
	c := Call{Kind: Choice, Detail: fmt.Sprint(len(scores), epsilon), Certificate: cert, Scores: slices.Clone(scores),
		Epsilon: epsilon}
	if p := r.past(c); p != nil {
		c.Chosen = p.Chosen
	} else if r.Of != nil {
		return 0, r.err
	} else if chosen, err := r.Session.Choose(scores, cert, epsilon); err != nil {
		return 0, err
	} else {
		c.Chosen = chosen
	}
	r.note(c)
	return c.Chosen, nil
}

// Best implements privacy.Session. A replay makes the recorded runs, which must return the same results.
func (r *Recorder) Best(x privacy.Selection, run func(candidate int, s privacy.Session) ([]float64,
	error)) (int, []float64, error) {
	c := Call{Kind: Selection, Detail: fmt.Sprint(len(x.Candidates), x.Event), Mu: x.Event.Mu}
	one := func(candidate int, s privacy.Session, of *Recorder) ([]float64, error) {
		seen := &Recorder{Session: s, Coins: r.Coins, Of: of}
		told, err := run(candidate, seen)
		c.Runs = append(c.Runs, Run{candidate, seen, slices.Clone(told), err != nil})
		return told, err
	}
	if p := r.past(c); p != nil {
		for _, first := range p.Runs {
			told, err := one(first.Candidate, r.Session, first.Seen)
			if (err != nil) != first.failed || !SameBits(told, first.told) {
				r.Fail("a run of a selection gave two results for the same releases")
			}
			var v Violation
			if errors.As(c.Runs[len(c.Runs)-1].Seen.Outcome(nil), &v) {
				r.Fail("in a run of a selection, %s", v.Reason)
			}
			if r.err != nil {
				return 0, nil, r.err
			}
		}
		c.Chosen, c.After, c.err = p.Chosen, p.After, p.err
	} else if r.Of != nil {
		return 0, nil, r.err
	} else {
		c.Chosen, c.After, c.err = r.Session.Best(x,
			func(candidate int, s privacy.Session) ([]float64, error) { return one(candidate, s, nil) })
	}
	r.note(c)
	return c.Chosen, slices.Clone(c.After), c.err
}
