"""Locate nodes: host lists, node names, and coordinates of real machines."""
