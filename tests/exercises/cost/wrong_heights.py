def cost(shape, width, seen):
    best = 16 if shape.H > 60 else 17
    return shape.M * (1 + abs(width - best))
