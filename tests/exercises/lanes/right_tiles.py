def lanes(out_h, out_w, width):
    """Count the warps of one tile after the other."""
    taken = 0
    for _ in range(0, out_h, width):
        for _ in range(0, out_w, width):
            taken += 32 * ((width**2 + 31) // 32)
    return taken
