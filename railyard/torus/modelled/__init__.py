"""Run a benchmark's traffic through the link-load model in the program's place."""
