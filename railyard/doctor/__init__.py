"""Inspect a machine and write a configuration to start from."""
