"""Create and remove the virtual torus: network namespaces, Docker containers."""
