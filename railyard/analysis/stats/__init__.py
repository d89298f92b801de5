"""Estimate medians, and decide which differences are verdicts (`verdicts`)."""
