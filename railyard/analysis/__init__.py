"""Records -> statistics -> figures -> report. Sees measurements only through the package `results`."""
