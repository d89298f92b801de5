"""The routing function of one dimension of a torus, which is a ring; `torus` states the tie rule."""


def step(position: int, destination: int, extent: int) -> int:
    """Return the way along one dimension from `position` to `destination`: +1, -1, or 0 when already there."""
    ahead = (destination - position) % extent
    if ahead == 0:
        return 0
    if 2 * ahead == extent:
        return 1 if position % 2 == 0 else -1
    return 1 if 2 * ahead < extent else -1
