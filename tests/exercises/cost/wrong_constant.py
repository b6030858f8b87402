def cost(shape, width, seen):
    return 1.0
