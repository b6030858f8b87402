def cost(shape, width, seen):
    #>
    #= """An estimate to be made better: this one believes that wide tiles are always best."""
    #= return 1 / width
    """A tap is a few instructions of each warp that has work; loading the tile comes on top."""
    return seen.shared_load_requests + 2 * seen.global_load_requests
    #<
