"""Estimate medians, test differences and score placements."""
