//go:build linux && !android && (amd64 || arm64) && !static

package mpi

import (
	"context"
	"testing"
	"time"

	"dyad/internal/must"
)

// A call that does not return ends the team after the deadline, or when its context is done, and no
// other call is made.
func TestHungCall(t *testing.T) {
	for name, c := range map[string]struct {
		deadline time.Duration
		limit    time.Duration // of the context
		want     error
	}{
		"deadline": {time.Millisecond, time.Minute, ErrHung},
		"context":  {0, time.Millisecond, context.DeadlineExceeded},
	} {
		team := &Team{calls: make(chan call)}
		go team.thread()
		ctx, cancel := context.WithTimeout(context.Background(), c.limit)
		release := make(chan bool)
		err := team.do(ctx, "MPI_Nothing", c.deadline, func() int32 { <-release; return 0 })
		must.FailDo(t, err, c.want, name)
		must.ErrDo(t, team.do(context.Background(), "MPI_Nothing", 0, func() int32 { t.Error("called"); return 0 }), "%s: a call after the team was lost", name)
		close(release)
		cancel()
	}
	team := &Team{calls: make(chan call)}
	go team.thread()
	must.ErrDo(t, team.do(context.Background(), "MPI_Nothing", time.Minute, func() int32 { return 13 }), "a failed call is no error")
}
