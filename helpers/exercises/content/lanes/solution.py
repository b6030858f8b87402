def lanes(out_h, out_w, width):
    """Return how many lanes square tiles of this width take for one output map.

    out_h, out_w: rows and columns of the map. A block has a thread for each cell of its tile.
    """
    tiles = -(-out_h // width) * -(-out_w // width)  # -(-a // b) is a / b, rounded up
    #>
    #= return tiles * width * width  # these are the threads
    warps = -(-width * width // 32)  # of a block
    return 32 * warps * tiles
    #<
