/*
 * The ways to exchange the faces, as a table.
 *
 * manual      non-blocking messages; faces packed into and unpacked from buffers by the program
 * persistent  the same with persistent requests (MPI_Send_init, MPI_Startall)
 * datatypes   the same messages; derived datatypes describe the strided faces, MPI packs
 * neighbours  one non-blocking neighbourhood collective (MPI_Ineighbor_alltoallw) with those datatypes
 * copy        no messages: a plain strided copy of each face out to its buffer and in again, to compare with
 *
 * Messages carry the direction of their face as tag, for in a dimension of 2 both neighbours are one rank,
 * and in one of 1 they are the rank itself. The collective has no tags and matches blocks between two ranks
 * in order: so each rank lists its sources as the opposites of its destinations.
 *
 * Leaves out: one-sided and partitioned communication.
 */
#pragma once

#include "halo/faces.h"

#include <mpi.h>

/* Times of one iteration on one rank, in seconds. `wait` is the time blocked in MPI until all messages are
 * complete. */
struct halo_times {
    double iteration;
    double pack;
    double unpack;
    double wait;
};

/* The faces, and a variant's state between iterations. */
struct exchange {
    struct faces *faces;
    MPI_Datatype types[FACES_MAX];
    MPI_Comm neighbours;
    MPI_Request receives[FACES_MAX]; /* persistent requests */
    MPI_Request sends[FACES_MAX];
};

struct halo_variant {
    const char *name;
    bool packs;     /* it packs and unpacks itself, and measures both times */
    bool exchanges; /* it sends messages */
    void (*open)(struct exchange *exchange);
    void (*run)(struct exchange *exchange, struct halo_times *times); /* sets all times but `iteration` */
    void (*close)(struct exchange *exchange);
};

/* All variants, in the order of the list at the head of this file. */
extern const struct halo_variant halo_variants[HALO_VARIANTS];

/* Collective. One iteration. */
struct halo_times halo_iterate(const struct halo_variant *variant, struct exchange *exchange);
