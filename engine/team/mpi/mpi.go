package mpi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ErrUnavailable is wrapped by errors about an MPI library that is missing or cannot be used.
var ErrUnavailable = errors.New("mpi: MPI is not available")

// ErrHung is wrapped by the error of a call if a process did not answer in time.
var ErrHung = errors.New("mpi: a process does not answer")

// Options are the options of Open. The zero value selects the MPI library of the machine and sets no deadline.
type Options struct {
	// Library is the file of the MPI library. No other file is tried. If it is "", the usual names are tried.
	Library string
	// Deadline is the longest time that a gather may take. If a gather takes longer, the team
	// ends, whichever process is late. If Deadline is 0, there is no limit. On rank 0 the limit
	// also applies to broadcasts. The other ranks wait for the next request of rank 0 without a
	// limit.
	Deadline time.Duration
}

// libraries returns the names of library files in the order in which they are tried. The library of
// the launcher comes first, before other installed libraries. The launcher is recognised by the
// environment variables that it sets.
func libraries(variable func(string) string) []string {
	mpich, open := []string{"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"}, []string{"libmpi.so.40"}
	if variable("OMPI_COMM_WORLD_SIZE") != "" {
		return append(append(open, mpich...), "libmpi.so")
	}
	return append(append(mpich, open...), "libmpi.so")
}

// Started returns the number of processes that the launcher of this process announced. It returns 0 if
// there is no launcher or the launcher announced no number.
func Started() int { return started(os.Getenv) }

// started returns the number of processes that the launcher announced, or 0 if it announced no number.
func started(variable func(string) string) int {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"} {
		if n, err := strconv.Atoi(variable(name)); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// abi holds the constants of a binary interface.
type abi struct {
	name string
	// worldSymbol and doubleSymbol are the names of global variables. They are set if the
	// handles of the interface are the addresses of these variables.
	worldSymbol, doubleSymbol string
	// world and double are the handles of an interface whose handles are constants.
	world, double uintptr
	inPlace       uintptr // MPI_IN_PLACE
	serialized    int32   // MPI_THREAD_SERIALIZED
}

// interfaces returns the supported interfaces. The interface of a library is the first one that fits.
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
