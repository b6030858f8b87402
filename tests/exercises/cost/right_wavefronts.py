def cost(shape, width, seen):
    """Bank conflicts add wavefronts to what a request costs by itself."""
    return 4 * seen.shared_load_requests + seen.shared_load_wavefronts
