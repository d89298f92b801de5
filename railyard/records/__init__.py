"""Store what one job measured, with its evidence, in records and an append-only archive."""
