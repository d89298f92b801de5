"""Turn the archive into a table that other programs read, and take in results of other tools."""
