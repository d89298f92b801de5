"""Provide what every other room may import: errors, the checkout, host names, worker processes, YAML and schemas.

Leaves out topologies, jobs and records.
"""
