"""Group records into cases, and compare the placements, NIC policies and software inside a case."""
