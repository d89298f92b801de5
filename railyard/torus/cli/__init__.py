"""The commands `torus` and its views of links."""
