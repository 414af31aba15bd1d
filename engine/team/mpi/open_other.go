//go:build !linux || android || (!amd64 && !arm64) || static

package mpi

import (
	"context"
	"runtime"
)

// Team implements engine.Team in programs without MPI, in which Open always returns an error.
type Team struct{}

// Open returns an error wrapping ErrUnavailable, because MPI is supported only on Linux (amd64 and arm64).
func Open(Options) (*Team, error) {
	return nil, unavailable("this program for %s/%s has no MPI; use a build for linux/amd64 or linux/arm64 without "+
		"the tag static", runtime.GOOS, runtime.GOARCH)
}

// Rank returns 0.
func (*Team) Rank() int { return 0 }

// Size returns 1.
func (*Team) Size() int { return 1 }

// String returns "no team".
func (*Team) String() string { return "no team" }

// AllGather returns ErrUnavailable.
func (*Team) AllGather(context.Context, []float64, []int, []int) error { return ErrUnavailable }

// Broadcast returns ErrUnavailable.
func (*Team) Broadcast(context.Context, []float64) error { return ErrUnavailable }

// Close does nothing.
func (*Team) Close() error { return nil }

// Abort does nothing.
func (*Team) Abort(int) {}
