"""Compute how many launches and jobs find a difference."""
