"""Check what a virtual torus and its guard recorded of a launch."""
