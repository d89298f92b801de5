"""The nodes of a job: which they are, what each has, what runs on them."""
