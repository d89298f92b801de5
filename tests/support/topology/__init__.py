"""Topologies for tests."""
