"""Plan a virtual torus: namespaces, addresses, routes, shapers."""
