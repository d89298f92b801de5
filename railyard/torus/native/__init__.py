"""Find the C helpers of the virtual torus: they enter a namespace, count, route, and let idle ranks sleep."""
