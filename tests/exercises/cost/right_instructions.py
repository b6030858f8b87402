def cost(shape, width, seen):
    """All that warps execute."""
    return seen.instructions
