package team

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"dyad/engine"
)

// op is what the leader asks of the others.
type op float64

const (
	opStop op = iota
	opBind
	opGradient
	opMoments
	opRecentre
	opClose
	opDigests
	opInputs
)

// header is the length of the first message of an op: its number, then what it needs to know of
// the second.
const header = 8

// Leader is the team as rank 0 sees it. It is used from one goroutine at a time.
type Leader struct {
	team    engine.Team
	kernel  engine.Kernel
	records *engine.Records
	lost    error
	stopped bool
	asked   bool // the others are in an op that this process has not ended, and a panic may have left
}

// Lead makes the leader of a team whose other ranks call Serve with the same kernel and with their
// shares of the same records. It is called on rank 0, after Agree, and must be stopped.
func Lead(t engine.Team, k engine.Kernel, r *engine.Records) *Leader {
	return &Leader{team: t, kernel: k, records: r}
}

// Leads returns an error unless the leader was made for these: the others sum the gradients of its
// kernel, which another plan does not bound, over its records, which another run is not charged for.
func (l *Leader) Leads(k engine.Kernel, r *engine.Records) error {
	if l.records != r || !reflect.ValueOf(k).Comparable() || l.kernel != k {
		return errors.New("team: the leader is of another plan or of other records; make one for each (Lead), after its ranks agreed")
	}
	return nil
}

// ended is why the team cannot go on, or nil.
func (l *Leader) ended() error {
	if l.asked && l.lost == nil {
		l.lost = errors.New("a sum was left half done")
	}
	return l.lost
}

// Stop ends Serve on the other ranks. A team that is lost hears nothing, and Stop returns why.
func (l *Leader) Stop() error {
	if err := l.ended(); l.stopped || err != nil {
		return err
	}
	l.stopped = true
	return l.ask(context.Background(), opStop, nil, nil)
}

// ask tells the others what to do: an op with some numbers, and a second message.
func (l *Leader) ask(ctx context.Context, o op, head, body []float64) error {
	if err := l.ended(); err != nil {
		return fmt.Errorf("team: %w: %w", engine.ErrTeamLost, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	first := make([]float64, header)
	first[0], first[1] = float64(o), float64(len(body))
	copy(first[2:], head)
	err := l.team.Broadcast(ctx, first)
	if err == nil && len(body) > 0 {
		err = l.team.Broadcast(ctx, body)
	}
	l.asked = o != opStop && o != opClose
	if err != nil {
		l.lost = err
	}
	return err
}

// did ends what was asked. It notes an error after which the ranks may be in different calls.
func (l *Leader) did(err error) error {
	if l.asked = false; err != nil {
		l.lost = err
	}
	return err
}

// Digest is the SHA-256 of the engine.Records.Digests of all records, in their order.
func (l *Leader) Digest(ctx context.Context) (string, error) {
	if err := l.ask(ctx, opDigests, nil, nil); err != nil {
		return "", err
	}
	text, err := digest(ctx, l.team, l.kernel, l.records)
	return text, l.did(err)
}

// ErrInputs is wrapped by an error about input files that a rank read and that changed since.
var ErrInputs = errors.New("team: input files changed")

// Inputs is an error unless the input files of all ranks are what they were: own for this rank, what Serve was given for the
// others, whose errors name the files.
func (l *Leader) Inputs(ctx context.Context, own func() error) error {
	if err := l.ask(ctx, opInputs, nil, nil); err != nil {
		return err
	}
	changed, ranks, err := inputs(ctx, l.team, own)
	switch _ = l.did(err); {
	case err != nil:
		return err
	case changed != nil:
		return changed
	case len(ranks) > 0:
		return fmt.Errorf("%w on ranks %v, which name them", ErrInputs, ranks)
	}
	return nil
}

// Bind binds the records of all ranks. The evaluator has sums of moments, and moved records, if the
// kernel has.
func (l *Leader) Bind(ctx context.Context) (engine.Evaluator, error) {
	if err := l.ask(ctx, opBind, nil, nil); err != nil {
		return nil, err
	}
	e, err := l.kernel.Bind(l.records)
	if l.did(err) != nil {
		return nil, err
	}
	return &evaluator{Evaluator: e, lead: l}, nil
}

// evaluator asks the others to do what this process then does, too.
type evaluator struct {
	engine.Evaluator
	lead *Leader
	part []int32 // Order of the last SubsetPairs
}

var _ engine.RecentringEvaluator = (*evaluator)(nil)

// The kinds of pairs that are sent.
const (
	allPairs = iota
	subsetPairs
	samePairs // a subset of the same order as before
)

// GradSum implements engine.Evaluator.
func (e *evaluator) GradSum(ctx context.Context, dst, w []float64, p engine.Pairs) error {
	problem := e.Kernel().Problem()
	head, body := []float64{float64(len(w)), allPairs, 0, 0}, w
	// Whatever one rank refuses must be refused before the others hear of it: w depends on noise, and
	// a process that ends can be resumed with other noise.
	switch q := p.(type) {
	case engine.SubsetPairs:
		part := problem
		part.N = q.N
		if err := part.CheckCall(ctx, dst, w, part.Pairs()); err != nil {
			return err
		}
		head[1], head[2], head[3] = subsetPairs, float64(q.From), float64(q.N)
		if q.Order == nil || len(q.Order) != problem.N {
			return fmt.Errorf("%w: pairs of a part without an order of all records, in a team", engine.ErrUnsupported)
		}
		body = append(make([]float64, 0, len(w)+len(q.Order)), w...)
		if len(e.part) == len(q.Order) && same(e.part, q.Order) {
			head[1] = samePairs
			break
		}
		e.part = append(e.part[:0], q.Order...)
		for _, i := range q.Order {
			body = append(body, float64(i))
		}
	default:
		if err := problem.CheckCall(ctx, dst, w, p); err != nil {
			return err
		}
		if _, prefix := p.(engine.PrefixPairs); prefix {
			return fmt.Errorf("%w: pairs of one record with those before it are summed by one process; train without a team", engine.ErrUnsupported)
		}
	}
	if err := e.lead.ask(ctx, opGradient, head, body); err != nil {
		return err
	}
	return e.lead.did(e.Evaluator.GradSum(ctx, dst, w, p))
}

func same(a, b []int32) bool {
	for i, v := range a {
		if v != b[i] {
			return false
		}
	}
	return true
}

// Moments implements engine.MomentsEvaluator.
func (e *evaluator) Moments(ctx context.Context, dst *engine.Moments, m engine.MomentSums) error {
	sums, ok := e.Evaluator.(engine.MomentsEvaluator)
	if !ok {
		return fmt.Errorf("%w: moments by a kernel of gradients", engine.ErrUnsupported)
	}
	problem := e.Kernel().Problem()
	if err := m.Validate(problem.D, problem.Bounds); err != nil {
		return err
	}
	if len(dst.Sum) != problem.D || len(dst.Second) != m.Second.Len(problem.D) {
		return errors.New("team: Moments: the lengths of the sums are not those asked for")
	}
	if err := e.lead.ask(ctx, opMoments, nil, packMoments(m)); err != nil {
		return err
	}
	return e.lead.did(sums.Moments(ctx, dst, m))
}

// Recentre implements engine.RecentringEvaluator.
func (e *evaluator) Recentre(ctx context.Context, centre []float64, radius float64) error {
	moved, ok := e.Evaluator.(engine.RecentringEvaluator)
	if !ok {
		return fmt.Errorf("%w: moved records by a kernel without them", engine.ErrUnsupported)
	}
	problem, m := e.Kernel().Problem(), engine.MomentSums{Centre: centre, Radius: radius}
	if err := m.Validate(problem.D, problem.Bounds); err != nil {
		return err
	}
	if err := e.lead.ask(ctx, opRecentre, nil, packMoments(m)); err != nil {
		return err
	}
	return e.lead.did(moved.Recentre(ctx, centre, radius))
}

// Close implements engine.Evaluator.
func (e *evaluator) Close() error {
	if e.lead.ended() != nil || e.lead.stopped {
		return e.Evaluator.Close()
	}
	return errors.Join(e.lead.ask(context.Background(), opClose, nil, nil), e.Evaluator.Close())
}

// packMoments makes numbers of m.
func packMoments(m engine.MomentSums) []float64 {
	signed := 0.0
	if m.Signed {
		signed = 1
	}
	x := []float64{m.Radius, signed, m.Offset, m.Class, m.Intercept, float64(m.Second), float64(len(m.Centre)), float64(len(m.Model))}
	return append(append(x, m.Centre...), m.Model...)
}

// unpackMoments reads what packMoments wrote.
func unpackMoments(x []float64) engine.MomentSums {
	m := engine.MomentSums{Radius: x[0], Signed: x[1] != 0, Offset: x[2], Class: x[3], Intercept: x[4], Second: engine.SecondMoments(x[5])}
	vectors, centre := x[8:], int(x[6])
	if centre > 0 {
		m.Centre = vectors[:centre]
	}
	if x[7] > 0 {
		m.Model = vectors[centre:]
	}
	return m
}
