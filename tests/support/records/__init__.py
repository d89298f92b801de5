"""Support for tests of records."""
