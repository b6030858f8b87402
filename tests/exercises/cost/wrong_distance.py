def cost(shape, width, seen):
    return abs(width - (16 if shape.H == 86 else 17))
