"""ReFrame checks: what to run, where, how often. One file a benchmark family; `base` does what they share."""
