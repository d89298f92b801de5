"""Store and exchange records: the append-only archive and its index, listings, bags, sessions, challenges."""
