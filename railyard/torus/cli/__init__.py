"""Define the commands of `railyard torus` and its views of links."""
