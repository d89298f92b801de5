"""Model topology, allocation and placement, and the form of a placement for each launcher.

Knows neither ReFrame nor MPI nor the kernel. Files are read by `topology.catalog.load` and written by the command line;
everything between is pure.
"""
