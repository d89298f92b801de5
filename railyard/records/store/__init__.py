"""Store and exchange records: the append-only archive and its index, listings, bundles, bags, sessions, challenges."""
