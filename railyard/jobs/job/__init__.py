"""One job in values: what is requested, what a partition makes of it, and the file that holds it."""
