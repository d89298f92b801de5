/*
 * Counts the bytes and the faults of every NIC of every node during a program, as evidence of the NICs that
 * its ranks used, and of what went wrong meanwhile.
 *
 * One rank of each node reads the counters after MPI's start and again before its end; rank 0 writes the
 * differences to a file (docs/formats.md, "NICs"). Every fabric that a node has is read: Slingshot,
 * Omni-Path, InfiniBand, RoCE, EFA, Ethernet (the counter groups of that name), and the group `node` with the
 * faults of memory, processors and TCP. MPI's own set-up is counted, too. Under "health" the file has the
 * events and states that changed, which counters were read, and why others were not. The file also has the
 * bytes of each rank's own TCP connections by NIC (lib/measure/sockets.h), the energy that the nodes count
 * (lib/measure/energy.h) and the GPUs that each rank sees as the runtimes' variables say. Rank 0's
 * environment decides for all ranks:
 *
 *     RAILYARD_NICS          the file; without it nothing is counted
 *     RAILYARD_NIC_COUNTERS  groups, separated by commas; auto (the default): all those named above
 *     RAILYARD_SYSFS         where the paths below /sys begin; "%h" is the host's name
 *
 * Leaves out: which process sent bytes that no TCP connection carried. A simulated run
 * (RAILYARD_HOST_FROM_MPI) has no NICs.
 */
#pragma once

struct nics;

/* Collective over MPI_COMM_WORLD. Reads for the first time; NULL on all ranks if nothing is to be counted. */
struct nics *nics_begin(void);

/* Collective. Reads again, writes the file, and frees; NULL does nothing. If the file cannot be written, one
 * line is printed on stderr and the run continues. */
void nics_end(struct nics *nics);
