"""Figures of MPIs, communication stacks and the benchmarks themselves."""
