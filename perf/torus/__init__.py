"""Figures of the virtual torus: its rates, its error bound, faults, soak."""
