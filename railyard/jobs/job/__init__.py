"""Describe one job as data (the request, the job on a partition, its file), and read what each launch left."""
