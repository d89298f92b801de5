"""Format numbers, and the tables of data behind figures."""
