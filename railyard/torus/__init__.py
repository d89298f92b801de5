"""Make the machine that you do not have: a virtual torus of network namespaces."""
