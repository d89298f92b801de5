"""Keep records: the append-only archive and its index, listings, bundles, sessions and challenges."""
