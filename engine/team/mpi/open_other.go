//go:build !linux || android || (!amd64 && !arm64) || static

package mpi

import (
	"context"
	"runtime"
)

// Team is all processes of the job.
type Team struct{}

// Open returns an error that wraps ErrUnavailable: MPI is opened on Linux (amd64 and arm64) only.
func Open(Options) (*Team, error) {
	return nil, unavailable("this program, for %s/%s, has none: MPI is supported on linux/amd64 and linux/arm64, by builds without the tag static", runtime.GOOS, runtime.GOARCH)
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
