"""Read matrices of all pairs of nodes (`pt2pt --pairs`)."""
