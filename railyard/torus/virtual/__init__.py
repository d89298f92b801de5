"""Run the life of a virtual torus: up, launch, status, faults, counters, the guard of launches (`fidelity`), down."""
