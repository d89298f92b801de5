"""Allocations, and the orders that put ranks on their nodes."""
