"""Run a Slurm cluster on the virtual torus."""
