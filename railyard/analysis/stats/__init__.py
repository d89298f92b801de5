"""Estimate medians, decide which differences are verdicts (`verdicts`), and score placements."""
