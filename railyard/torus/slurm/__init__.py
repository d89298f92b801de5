"""A Slurm cluster on the virtual torus."""
