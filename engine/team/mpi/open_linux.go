//go:build linux && !android && (amd64 || arm64) && !static

package mpi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"dyad/engine"
)

// Team is an engine.Team of all processes of the job.
type Team struct {
	abi
	library    string
	rank, size int
	deadline   time.Duration
	calls      chan call // to the only thread that calls MPI
	lost       atomic.Bool

	init, commRank, commSize, allgatherv, bcast, finalize, abort uintptr
}

type call struct {
	run  func() int32
	done chan int32
}

var _ engine.Team = (*Team)(nil)

// Open opens the MPI library and joins the job. It may be called only once in a process. If
// mpirun did not start the process, the team consists of this process.
func Open(o Options) (*Team, error) {
	t := &Team{deadline: o.Deadline, calls: make(chan call)}
	handle, err := t.load(o.Library)
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name string
		at   *uintptr
	}{
		{"MPI_Init_thread", &t.init}, {"MPI_Comm_rank", &t.commRank}, {"MPI_Comm_size", &t.commSize},
		{"MPI_Allgatherv", &t.allgatherv}, {"MPI_Bcast", &t.bcast}, {"MPI_Finalize", &t.finalize}, {"MPI_Abort", &t.abort},
	} {
		if *s.at, err = purego.Dlsym(handle, s.name); err != nil {
			return nil, unavailable("%s has no function %s", t.library, s.name)
		}
	}
	go t.thread()
	var level, rank, size int32
	for _, step := range []struct {
		name string
		run  func() int32
	}{
		{"MPI_Init_thread", func() int32 {
			return invoke(t.init, 0, 0, uintptr(t.serialized), uintptr(unsafe.Pointer(&level)))
		}},
		{"MPI_Comm_rank", func() int32 { return invoke(t.commRank, t.world, uintptr(unsafe.Pointer(&rank))) }},
		{"MPI_Comm_size", func() int32 { return invoke(t.commSize, t.world, uintptr(unsafe.Pointer(&size))) }},
	} {
		if err := t.do(context.Background(), step.name, 0, step.run); err != nil {
			return nil, unavailable("%s: %w", t.library, err)
		}
	}
	t.rank, t.size = int(rank), int(size)
	if n := started(os.Getenv); t.size == 1 && n > 1 {
		// Each process would train and charge the privacy budget separately.
		return nil, unavailable("the launcher started %d processes, but the library %s finds only one; set "+
			"DYAD_LIBMPI to the launcher's MPI library", n, t.library)
	}
	return t, nil
}

// load opens the first library that exists and detects its interface.
func (t *Team) load(only string) (uintptr, error) {
	names := libraries(os.Getenv)
	if only != "" {
		names = []string{only}
	}
	runtime.LockOSThread() // dlerror reports errors of its own thread only
	defer runtime.UnlockOSThread()
	var handle uintptr
	var failed error
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL) // Open MPI's plug-ins look for its symbols
		if err == nil {
			handle, t.library = h, name
			break
		}
		failed = errors.Join(failed, err)
	}
	if handle == 0 {
		return 0, unavailable("install Open MPI or MPICH, or set DYAD_LIBMPI to its library: %w", failed)
	}
	for _, t.abi = range interfaces() {
		switch {
		case t.worldSymbol != "":
			var missing error
			if t.world, missing = purego.Dlsym(handle, t.worldSymbol); missing != nil {
				continue
			}
			if t.double, missing = purego.Dlsym(handle, t.doubleSymbol); missing != nil {
				return 0, unavailable("%s has no %s", t.library, t.doubleSymbol)
			}
			return handle, nil
		case t.serialized == 2048 && !strings.Contains(t.library, "mpi_abi"):
		default:
			return handle, nil
		}
	}
	return 0, unavailable("%s has no known binary interface", t.library)
}

// thread makes all calls on one thread of the operating system.
func (t *Team) thread() {
	runtime.LockOSThread()
	for c := range t.calls {
		c.done <- c.run()
	}
}

// invoke is purego.SyscallN for a function that returns an int. The objects at addresses in args
// are not moved during the call.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(r) // the upper half is undefined
}

// do makes a call. If ctx is done or the deadline passes before the call returns, the call
// continues in its thread and the team is lost.
func (t *Team) do(ctx context.Context, name string, deadline time.Duration, run func() int32) error {
	if t.lost.Load() {
		return fmt.Errorf("mpi: %s: %w", name, engine.ErrTeamLost)
	}
	if err := ctx.Err(); err != nil {
		t.lost.Store(true)
		return err
	}
	var late <-chan time.Time
	if deadline > 0 {
		timer := time.NewTimer(deadline)
		defer timer.Stop()
		late = timer.C
	}
	c := call{run, make(chan int32, 1)}
	t.calls <- c
	select {
	case code := <-c.done:
		if code != 0 {
			t.lost.Store(true)
			return fmt.Errorf("mpi: %w: %s failed with code %d", engine.ErrTeamLost, name, code)
		}
		return nil
	case <-ctx.Done():
		t.lost.Store(true)
		return ctx.Err()
	case <-late:
		t.lost.Store(true)
		return fmt.Errorf("%w: %w within %v (%s on rank %d); a machine may be down or overloaded",
			engine.ErrTeamLost, ErrHung, deadline, name, t.rank)
	}
}

// Rank implements engine.Team.
func (t *Team) Rank() int { return t.rank }

// Size implements engine.Team.
func (t *Team) Size() int { return t.size }

// String returns a description of the library, its interface and the team.
func (t *Team) String() string {
	return fmt.Sprintf("rank %d of %d, %s (%s)", t.rank, t.size, t.name, t.library)
}

// AllGather implements engine.Team.
func (t *Team) AllGather(ctx context.Context, x []float64, counts, at []int) error {
	if len(x) == 0 {
		return nil // every rank returns here, because the length is the same on every rank
	}
	if len(x) > math.MaxInt32 {
		return fmt.Errorf("mpi: a gather has %d numbers, but it must have fewer than 2^31", len(x))
	}
	places := make([]int32, 2*t.size)
	for r := range counts {
		places[r], places[t.size+r] = int32(counts[r]), int32(at[r])
	}
	return t.do(ctx, "MPI_Allgatherv", t.deadline, func() int32 {
		code := invoke(t.allgatherv, t.inPlace, 0, t.double, uintptr(unsafe.Pointer(&x[0])),
			uintptr(unsafe.Pointer(&places[0])), uintptr(unsafe.Pointer(&places[t.size])), t.double, t.world)
		runtime.KeepAlive(x)
		return code
	})
}

// Broadcast implements engine.Team.
func (t *Team) Broadcast(ctx context.Context, x []float64) error {
	if len(x) == 0 {
		return nil
	}
	if len(x) > math.MaxInt32 {
		return fmt.Errorf("mpi: a broadcast has %d numbers, but it must have fewer than 2^31", len(x))
	}
	deadline := t.deadline
	if t.rank > 0 {
		deadline = 0 // rank 0 may be busy
	}
	return t.do(ctx, "MPI_Bcast", deadline, func() int32 {
		code := invoke(t.bcast, uintptr(unsafe.Pointer(&x[0])), uintptr(len(x)), t.double, 0, t.world)
		runtime.KeepAlive(x)
		return code
	})
}

// Close leaves the job. Every process must call it. It does nothing if the team is lost.
func (t *Team) Close() error {
	if t.lost.Load() {
		return nil
	}
	err := t.do(context.Background(), "MPI_Finalize", t.deadline, func() int32 { return invoke(t.finalize) })
	t.lost.Store(true)
	return err
}

// Abort ends all processes of the job with an exit code. Abort returns only if an MPI call is in
// progress, because MPI cannot abort during a call. The caller then ends this process, and
// mpirun notices the end.
func (t *Team) Abort(code int) {
	c := call{func() int32 { return invoke(t.abort, t.world, uintptr(code)) }, make(chan int32, 1)}
	select {
	case t.calls <- c:
		<-c.done
	case <-time.After(time.Second):
	}
}
