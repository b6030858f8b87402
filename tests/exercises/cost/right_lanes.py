def cost(shape, width, seen):
    """Warps of all blocks, times the taps of a thread, and the cells of all tiles."""
    out_h, out_w = shape.H - shape.K + 1, shape.W - shape.K + 1
    blocks = -(-out_h // width) * -(-out_w // width) * shape.M
    warps = -(-width * width // 32)
    tile = (width + shape.K - 1) ** 2
    return blocks * shape.C * (32 * warps * shape.K**2 + 2 * tile)
