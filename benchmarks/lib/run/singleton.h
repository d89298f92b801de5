/*
 * Detects a launch of many processes in which MPI made each process its own MPI_COMM_WORLD.
 *
 * That happens where a program's MPI does not understand the launcher: MPICH's programs under Open MPI's
 * mpirun, or an image whose MPI is another than the machine's. Every process then runs the whole problem
 * alone, and may even succeed.
 *
 * Knows Open MPI's mpirun, PMI (Hydra, Slurm's mpi=pmi2) and Slurm's steps. Leaves out launchers that tell a
 * process nothing about its fellows.
 */
#ifndef RAILYARD_LIB_RUN_SINGLETON_H
#define RAILYARD_LIB_RUN_SINGLETON_H

/* Returns the launcher's number of processes if MPI reports a single rank; 0 if they agree. */
int singleton_of(void);

/* Ends this process with one line, printed by the launcher's first process, where singleton_of() is not 0. */
void singleton_refuse(const char *program);

#endif
