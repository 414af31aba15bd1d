// Package mpi is an engine.Team of the processes that mpirun, srun or a Kubernetes MPIJob started.
//
// The MPI library of the machine is opened at run time: the program needs no C compiler and is the
// same with and without MPI. Three binary interfaces are known: Open MPI, MPICH and its derivatives,
// and the standard one of MPI 5. Numbers are moved by MPI_Allgatherv and MPI_Bcast; no reduction of
// MPI is used, since the order of its sums depends on the number of processes.
package mpi
