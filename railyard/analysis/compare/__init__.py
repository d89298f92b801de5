"""Compare two sides, chosen by any setting, over a whole archive."""
