"""Records: what one job measured, with its evidence, and the append-only archive that stores them."""
