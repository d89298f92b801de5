"""Store large records compactly: columns of numbers, ranks and NICs in columns, and tables that launches share."""
