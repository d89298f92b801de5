"""Describe one job as data: the request, the job that a partition makes of it, and the file that contains it."""
