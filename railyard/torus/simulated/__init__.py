"""Simulate the torus: SimGrid's network, calibrations and SMPI."""
