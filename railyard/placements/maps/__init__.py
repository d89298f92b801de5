"""Maps of nodes: which GPU is near to which NIC, as the tools of vendors and libraries print it, and what is wrong."""
