// Package mpi implements engine.Team for the processes that mpirun, srun or a Kubernetes MPIJob started.
//
// The package opens the MPI library of the machine at run time. So building the program needs no C
// compiler, and the same program runs with and without MPI. The package supports three binary
// interfaces: Open MPI, MPICH and its derivatives, and the standard interface of MPI 5. It transfers
// numbers by MPI_Allgatherv and MPI_Bcast. It does not use the reductions of MPI, because the order
// of their sums depends on the number of processes.
package mpi
