"""The ground floor: errors, the checkout, host names, worker processes, and reading YAML and schemas.

Knows nothing of topologies, jobs and records; every other room may import it.
"""
