"""Read matrices of all pairs of nodes that `pt2pt --pairs` writes: the worst pairs, the worst nodes, an image."""
