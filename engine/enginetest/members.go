package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"dyad/engine"
)

// Members returns the members of a team in this process, each for a separate goroutine. If the context of a
// member is done, or if two members make different calls, the team ends.
func Members(size int) []engine.Team {
	r := &room{size: size, over: make(chan struct{})}
	members := make([]engine.Team, size)
	for i := range members {
		members[i] = &member{room: r, rank: i}
	}
	return members
}

// room holds the state that the members of a team share.
type room struct {
	sync.Mutex
	size  int
	now   *meeting
	over  chan struct{} // closed when the team has ended
	cause error
}

// meeting is one call of all members.
type meeting struct {
	call    string // the call and its public arguments
	parts   [][]float64
	arrived int
	done    chan struct{}
}

type member struct {
	*room
	rank int
}

// Rank implements engine.Team.
func (m *member) Rank() int { return m.rank }

// Size implements engine.Team.
func (m *member) Size() int { return m.size }

// End ends the team, as if the process of a member had ended.
func (m *member) End(cause error) {
	m.Lock()
	defer m.Unlock()
	if m.cause == nil {
		m.cause = fmt.Errorf("%w: %w", engine.ErrTeamLost, cause)
		close(m.over)
	}
}

// meet adds a member's part and returns the parts of all members.
func (m *member) meet(ctx context.Context, call string, part []float64) ([][]float64, error) {
	m.Lock()
	if m.now == nil {
		m.now = &meeting{call: call, parts: make([][]float64, m.size), done: make(chan struct{})}
	}
	now := m.now
	if now.call != call {
		m.Unlock()
		m.End(fmt.Errorf("enginetest: rank %d calls %s, others %s", m.rank, call, now.call))
		return nil, m.cause
	}
	now.parts[m.rank] = slices.Clone(part)
	if now.arrived++; now.arrived == m.size {
		m.now = nil
		close(now.done)
	}
	m.Unlock()
	select {
	case <-now.done:
		return now.parts, nil
	case <-m.over:
		m.Lock()
		defer m.Unlock()
		return nil, m.cause
	case <-ctx.Done():
		m.End(ctx.Err())
		return nil, ctx.Err()
	}
}

// AllGather implements engine.Team.
func (m *member) AllGather(ctx context.Context, x []float64, counts, at []int) error {
	if len(counts) != m.size || len(at) != m.size {
		return errors.New("enginetest: AllGather needs one count and one offset for each rank")
	}
	parts, err := m.meet(ctx, fmt.Sprint("AllGather ", len(x), counts, at), x[at[m.rank]:][:counts[m.rank]])
	if err != nil {
		return err
	}
	for r, part := range parts {
		copy(x[at[r]:][:counts[r]], part)
	}
	return nil
}

// Broadcast implements engine.Team.
func (m *member) Broadcast(ctx context.Context, x []float64) error {
	parts, err := m.meet(ctx, fmt.Sprint("Broadcast ", len(x)), x)
	if err == nil {
		copy(x, parts[0])
	}
	return err
}
