"""Run the life of a virtual torus: up, launch, status, faults, counters, fidelity, down."""
