def cost(shape, width, seen):
    """A tap is a few instructions of each warp that has work; loading the tile comes on top."""
    return seen.shared_load_requests + 2 * seen.global_load_requests
