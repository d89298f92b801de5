"""Judge records once; every format prints the result."""
