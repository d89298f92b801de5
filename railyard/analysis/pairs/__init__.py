"""Read outputs of single programs: matrices of all pairs of nodes (`pt2pt --pairs`), faults that moved (`topobw`)."""
