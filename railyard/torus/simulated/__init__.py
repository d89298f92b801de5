"""The simulated torus: SimGrid's network, calibrations and SMPI."""
