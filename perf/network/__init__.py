"""Measure the router's network alone, in virtual time."""
