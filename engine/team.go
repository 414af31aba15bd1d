package engine

import (
	"context"
	"errors"
)

// ErrTeamLost is wrapped by errors of a Team that cannot go on because a process or the network
// failed. It is a crash of a part of the computation: nothing about records or noise is in it.
var ErrTeamLost = errors.New("engine: the team is lost")

// Team is a fixed set of processes that compute sums together, each over some of the records. It
// moves numbers and adds none: every process adds the partial sums of all in the one order
// of the method, so a sum has the same bits for every number of processes.
//
// All members make the same calls in the same order, one at a time. An error of a call is final:
// the team is lost, and so is every evaluator that it was bound with.
type Team interface {
	// Rank is the number of this process, from 0 to Size()-1. Rank 0 leads.
	Rank() int
	Size() int
	// AllGather fills x with the parts of all; before the call a process has set its own. Part r is
	// x[at[r]:at[r]+counts[r]]; counts and at are the same on every rank.
	AllGather(ctx context.Context, x []float64, counts, at []int) error
	// Broadcast fills x, whose length is the same on every rank, with the numbers of rank 0.
	Broadcast(ctx context.Context, x []float64) error
}

// ShareOf returns the jobs from and to-1, of so many, that a rank does: consecutive ones, which
// depend on public numbers alone. Without a team (nil) they are all.
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

// GatherJobs fills m, one row of length numbers for each job, with the rows that the others have
// set for their shares. The last row may be shorter.
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

// GatherValues returns the numbers of all ranks, rank after rank, and where those of each begin;
// at the end of starts is their number.
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

// sharingKernel is a Kernel of a Team that needs some of the records on each rank only. Others
// need all of them on every rank, and share the work.
type sharingKernel interface {
	Kernel
	// Share returns the records from and to-1, persons if these are the unit, that a rank
	// needs. It depends on public numbers alone.
	Share(rank int) (from, to int)
}

// Share returns the records from and to-1 that a rank needs of a kernel, rounded outwards to
// whole runs of digestUnits.
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
