package team

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"dyad/engine"
)

// Leader controls the team from rank 0. It is used from one goroutine at a time.
type Leader struct {
	team    engine.Team
	kernel  engine.Kernel
	records *engine.Records
	lost    error
	stopped bool
	asked   bool // the other ranks are in an op that this process has not finished, possibly because of a panic
}

// Lead returns the leader of a team. The other ranks call Serve with the same kernel and with
// their shares of the same records. Lead is called on rank 0, after Agree. The caller must call
// Stop on the leader.
func Lead(t engine.Team, k engine.Kernel, r *engine.Records) *Leader {
	return &Leader{team: t, kernel: k, records: r}
}

// Leads returns an error unless the leader was created with the kernel k and the records r. The
// other ranks always use the kernel and the records of the leader. The bounds of a plan with another
// kernel do not hold for the leader's sums. The charge of a run on other records does not cover the
// leader's records.
func (l *Leader) Leads(k engine.Kernel, r *engine.Records) error {
	if l.records != r || !reflect.ValueOf(k).Comparable() || l.kernel != k {
		return errors.New("team: the leader belongs to another plan or other records; call Lead for this plan and " +
			"these records")
	}
	return nil
}

// ended returns the reason why the team cannot continue, or nil if it can.
func (l *Leader) ended() error {
	if l.asked && l.lost == nil {
		l.lost = errors.New("a sum was not completed")
	}
	return l.lost
}

// Stop ends Serve on the other ranks. If the team is lost, Stop sends nothing and returns the reason.
func (l *Leader) Stop() error {
	if err := l.ended(); l.stopped || err != nil {
		return err
	}
	l.stopped = true
	return l.ask(context.Background(), opStop, nil, nil)
}

// ask requests an op from the other ranks. It sends the op with the numbers in head, and then body as a second message.
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

// did ends the op that was requested. It stores an error after which the ranks may be in different calls.
func (l *Leader) did(err error) error {
	if l.asked = false; err != nil {
		l.lost = err
	}
	return err
}

// Digest returns the SHA-256 of the engine.Records.Digests of all records, in their order.
func (l *Leader) Digest(ctx context.Context) (string, error) {
	if err := l.ask(ctx, opDigests, nil, nil); err != nil {
		return "", err
	}
	text, err := digest(ctx, l.team, l.kernel, l.records)
	return text, l.did(err)
}

// Inputs returns an error unless the input files of all ranks are unchanged. Every rank checks the files
// that it read: this rank by calling own(), and every other rank by calling the function that Serve
// received. If files of another rank have changed, the error that Serve returns on that rank names the
// files.
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
		return fmt.Errorf("%w on ranks %v; these ranks print the names of the files", ErrInputs, ranks)
	}
	return nil
}

// Bind binds the kernel to the records of all ranks.
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

// evaluator requests each op from the other ranks and then does the op in this process, too.
type evaluator struct {
	engine.Evaluator
	lead *Leader
	part []int32 // the Order of the last SubsetPairs
}

// Sum implements engine.Evaluator.
func (e *evaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	// A query that a rank would refuse must be refused before it is sent to the other ranks. The
	// reason is that w depends on noise, and a process that ends can be resumed with other noise.
	problem := e.Kernel().Problem()
	kind, from, n, order := noPairs, 0, 0, []int32(nil)
	if q.Pairs == nil {
		if _, err := problem.CheckMoments(ctx, dst, q); err != nil {
			return err
		}
	} else {
		kind = allPairs
		checked := engine.Gradient(q.W, q.Pairs)
		if p, ok := q.Pairs.(engine.SubsetPairs); ok {
			if kind, from, n = subsetPairs, p.From, p.N; p.Order == nil || len(p.Order) != problem.N {
				return fmt.Errorf("%w: in a team, SubsetPairs.Order must list all records", engine.ErrUnsupported)
			}
			if slices.Equal(e.part, p.Order) {
				kind = samePairs
			} else {
				order = p.Order
			}
			problem.N = n
			checked.Pairs = problem.Pairs()
		}
		if err := problem.CheckGradient(ctx, dst, &checked); err != nil {
			return err
		}
		if _, prefix := q.Pairs.(engine.PrefixPairs); prefix {
			return engine.ErrTeamPrefix
		}
	}
	if !q.IsPlain() {
		if err := q.Validate(problem.D, problem.Bounds); err != nil {
			return err
		}
	}
	if math.IsInf(e.Kernel().Bounds(q).Sum, 1) {
		return fmt.Errorf("%w: method %s does not compute this sum", engine.ErrUnsupported, e.Kernel().Method())
	}
	if err := e.lead.ask(ctx, opSum, []float64{float64(kind), float64(from), float64(n), float64(len(dst))},
		pack(q, order)); err != nil {
		return err
	}
	if order != nil {
		e.part = append(e.part[:0], order...)
	}
	return e.lead.did(e.Evaluator.Sum(ctx, dst, q))
}

// Close implements engine.Evaluator.
func (e *evaluator) Close() error {
	if e.lead.ended() != nil || e.lead.stopped {
		return e.Evaluator.Close()
	}
	return errors.Join(e.lead.ask(context.Background(), opClose, nil, nil), e.Evaluator.Close())
}
