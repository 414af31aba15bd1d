package engine

import (
	"context"
	"errors"
	"fmt"
)

// ErrTeamLost is wrapped by errors of a Team that cannot continue because a process or the
// network failed. Such an error reports a crash of a part of the computation. It contains no
// information about records or noise.
var ErrTeamLost = errors.New("engine: the team is lost")

// ErrTeamPrefix is the error for PrefixPairs by a kernel of a Team.
var ErrTeamPrefix = fmt.Errorf("%w: a team cannot pair a record with all earlier records; train without a team",
	ErrUnsupported)

// Team is a fixed set of processes that compute sums together. Each process computes sums over
// some of the records. The Team only transfers numbers and does not add them. Every process adds
// the partial sums of all processes. The order of these additions is fixed by the method, so a
// sum has the same bits for every number of processes.
//
// All members make the same calls in the same order, one at a time. After an error of a call,
// the team and all evaluators that were bound with it can no longer be used.
type Team interface {
	// Rank is the number of this process, from 0 to Size()-1. The process with rank 0 leads the team.
	Rank() int
	Size() int
	// AllGather fills x with the parts of all processes. Before the call, each process has set its
	// own part. Part r is x[at[r]:at[r]+counts[r]]. counts and at are the same on every rank.
	AllGather(ctx context.Context, x []float64, counts, at []int) error
	// Broadcast fills x with the numbers of rank 0. The length of x is the same on every rank.
	Broadcast(ctx context.Context, x []float64) error
}

// ShareOf returns the range [from, to) of the jobs that a rank does. The range depends on
// public numbers alone. If t is nil, it contains all jobs.
func ShareOf(t Team, rank, jobs int) (from, to int) {
	if t == nil {
		return 0, jobs
	}
	return jobs * rank / t.Size(), jobs * (rank + 1) / t.Size()
}

// OwnShare is ShareOf for the rank of this process.
func OwnShare(t Team, jobs int) (from, to int) {
	if t == nil {
		return 0, jobs
	}
	return ShareOf(t, t.Rank(), jobs)
}

// GatherJobs fills m, which has one row for each job. A row has `length` numbers. The last row
// may have fewer. Each process has set the rows of its own share. GatherJobs sets the rows of
// the other processes.
func GatherJobs(ctx context.Context, t Team, m []float64, jobs, length int) error {
	if t == nil {
		return nil
	}
	counts, at := make([]int, t.Size()), make([]int, t.Size())
	for r := range counts {
		from, to := ShareOf(t, r, jobs)
		at[r] = min(from*length, len(m))
		counts[r] = min(to*length, len(m)) - at[r]
	}
	return t.AllGather(ctx, m, counts, at)
}

// GatherValues returns the numbers of all ranks, one rank after the other. starts holds the
// position of the first number of each rank, followed by the number of all values.
func GatherValues(ctx context.Context, t Team, own []float64) (all []float64, starts []int, err error) {
	counts, at := make([]int, t.Size()), make([]int, t.Size())
	sizes := make([]float64, t.Size())
	for r := range counts {
		counts[r], at[r] = 1, r
	}
	sizes[t.Rank()] = float64(len(own))
	if err := t.AllGather(ctx, sizes, counts, at); err != nil {
		return nil, nil, err
	}
	starts = make([]int, t.Size()+1)
	for r, s := range sizes {
		counts[r], at[r] = int(s), starts[r]
		starts[r+1] = starts[r] + int(s)
	}
	all = make([]float64, starts[t.Size()])
	copy(all[at[t.Rank()]:], own)
	return all, starts, t.AllGather(ctx, all, counts, at)
}

// sharingKernel is a Kernel of a Team that needs only some of the records on each rank. Other
// kernels of a Team need all records on every rank, and share the work.
type sharingKernel interface {
	Kernel
	// Share returns the range [from, to) of the records that a rank needs. If persons are
	// the unit, it is a range of persons. The range depends on public numbers alone.
	Share(rank int) (from, to int)
}

// Share returns the range [from, to) of the records that kernel k needs on a rank, rounded
// outwards to multiples of digestUnits.
func Share(k Kernel, rank int) (from, to int) {
	n := k.Problem().N
	s, ok := k.(sharingKernel)
	if !ok {
		return 0, n
	}
	from, to = s.Share(rank)
	if from >= to {
		return from, from
	}
	return from / digestUnits * digestUnits, min((to+digestUnits-1)/digestUnits*digestUnits, n)
}
