"""Find the nodes of a job, describe their hardware, and run steps on them."""
