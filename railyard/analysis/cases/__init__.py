"""Group records into cases, and compare and score the placements, NIC policies and software inside a case."""
