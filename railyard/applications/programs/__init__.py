"""Parsers of third-party programs: a module with the benchmark's name and a function `parse` is one."""
