/* A host that is a container (engine docker): its namespaces, and the identity of its first process. */
#ifndef RAILYARD_CONTAINER_H
#define RAILYARD_CONTAINER_H

/* The /proc folder of the first process of the container that is this host, or -1 where the host is none.
 * Ends the program when the container of a host has ended. */
int container_open(const char *torus, const char *host);

/* Makes the caller what `docker exec` would start: in the container's namespaces, with the user, groups,
 * environment and capability bounds of its first process, and in the same folder where that exists there.
 * Returns in a child; its parent waits, passes signals on and ends with its status. With `root` the child is
 * the container's root, with `preload` it is to load what the image names in RAILYARD_IDLE. */
void container_become(int process, const char *torus, const char *host, int root, int preload);

#endif
