"""Turn the archive into a table that other programs read, take in results of other tools, and list machines."""
