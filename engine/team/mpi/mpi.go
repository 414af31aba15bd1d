package mpi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ErrUnavailable is wrapped by errors about a library that is not there or cannot be used.
var ErrUnavailable = errors.New("mpi: MPI is not available")

// ErrHung is wrapped by the error of a call that a process did not answer in time.
var ErrHung = errors.New("mpi: a process does not answer")

// Options of Open. The zero value is the library of the machine, and no deadline.
type Options struct {
	// Library is the only file tried; "" tries the usual names.
	Library string
	// Deadline ends the team if a gather takes longer, whoever is late; 0 waits forever. Rank 0
	// has it for broadcasts, too; the others wait for its next request.
	Deadline time.Duration
}

// libraries are the names tried, in this order: the one of the launcher, which sets variables of its
// own, comes before others that are installed, too.
func libraries(variable func(string) string) []string {
	mpich, open := []string{"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"}, []string{"libmpi.so.40"}
	if variable("OMPI_COMM_WORLD_SIZE") != "" {
		return append(append(open, mpich...), "libmpi.so")
	}
	return append(append(mpich, open...), "libmpi.so")
}

// Started is the number of processes that the launcher of this one announced, 0 without a launcher or a
// number.
func Started() int { return started(os.Getenv) }

// started is the number of processes that the launcher announced, 0 without a number.
func started(variable func(string) string) int {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"} {
		if n, err := strconv.Atoi(variable(name)); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// abi is what a binary interface calls its constants.
type abi struct {
	name string
	// symbol of an interface whose handles are addresses of globals: those of world and double.
	worldSymbol, doubleSymbol string
	// world and double are the handles of the others.
	world, double uintptr
	inPlace       uintptr // MPI_IN_PLACE
	serialized    int32   // MPI_THREAD_SERIALIZED
}

// interfaces are the known ones; that of a library is the first that fits.
func interfaces() []abi {
	return []abi{
		{name: "Open MPI", worldSymbol: "ompi_mpi_comm_world", doubleSymbol: "ompi_mpi_double", inPlace: 1, serialized: 2},
		{name: "MPI 5 standard ABI", world: 0x101, double: 0x214, inPlace: 1, serialized: 2048},
		{name: "MPICH ABI", world: 0x44000000, double: 0x4c00080b, inPlace: ^uintptr(0), serialized: 2},
	}
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnavailable}, args...)...)
}
