def cost(shape, width, seen):
    return seen.global_load_sectors
