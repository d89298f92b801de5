"""Fit the placement of any MPI program to what its ranks send, and prove the gain."""
