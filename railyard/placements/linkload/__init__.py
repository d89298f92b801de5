"""Compute bytes and seconds per link for a traffic pattern and a placement, and draw heat maps."""
