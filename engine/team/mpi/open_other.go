//go:build !linux || android || static || (!amd64 && !arm64)

package mpi

import (
	"context"
	"runtime"
)

// Team is all processes of the job.
type Team struct{}

// Open returns an error that wraps ErrUnavailable: MPI is opened on Linux (amd64 and arm64) only, and not with the build tag static.
func Open(Options) (*Team, error) {
	return nil, unavailable("it is supported on linux/amd64 and linux/arm64, without the build tag static; this program is for %s/%s, or has the tag", runtime.GOOS, runtime.GOARCH)
}

// Rank implements engine.Team.
func (*Team) Rank() int { return 0 }

// Size implements engine.Team.
func (*Team) Size() int { return 1 }

// String names the team.
func (*Team) String() string { return "no team" }

// AllGather implements engine.Team.
func (*Team) AllGather(context.Context, []float64, []int, []int) error { return ErrUnavailable }

// Broadcast implements engine.Team.
func (*Team) Broadcast(context.Context, []float64) error { return ErrUnavailable }

// Close does nothing.
func (*Team) Close() error { return nil }

// Abort does nothing.
func (*Team) Abort(int) {}
