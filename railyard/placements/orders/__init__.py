"""Choose allocations, and the orders that put ranks on their nodes; optimise a placement."""
