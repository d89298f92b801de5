"""Traffic in the network of `railyard-router` alone, in virtual time: no TCP, no MPI, no machine."""
