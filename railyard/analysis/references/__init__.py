"""Derive the reference values that ReFrame holds new runs against."""
