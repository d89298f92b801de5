"""What large records are made of: columns of numbers, ranks and NICs over them, and the tables that launches share."""
