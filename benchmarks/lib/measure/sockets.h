/*
 * The bytes of a process's own TCP connections, by the NIC whose address each connection has.
 *
 * Shows which NIC carried a rank's bytes where its MPI sends by the kernel's TCP. Models: connections that
 * are open, over IPv4 and IPv6; payload that was acknowledged, and that was received. Leaves out: connections
 * within the node, those that the process has closed, and MPI libraries that bypass the kernel: they have no
 * connection.
 */
#pragma once

#include <stdint.h>

enum { SOCKETS_NICS = 16, SOCKETS_NAME_BYTES = 16 };

struct sockets_nic {
    char nic[SOCKETS_NAME_BYTES];
    uint64_t sent_bytes;
    uint64_t received_bytes;
};

/* Fills the NICs that this process has connections of, and returns how many there are. */
int sockets_read(struct sockets_nic nics[SOCKETS_NICS]);
