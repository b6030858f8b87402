def resident_warps(threads, registers, shared_bytes):
    """Return how many warps of this kernel a multiprocessor of an H200 holds at a time.

    threads: of a block. registers: of a thread. shared_bytes: of a block.
    """
    #>
    #= return 64
    warps_of_block = -(-threads // 32)

    # Registers are given out in eights to each thread. Each quarter of the multiprocessor has a
    # fourth of them, and a warp lives in one quarter.
    registers_of_warp = 32 * -(-registers // 8) * 8
    warps_by_registers = 4 * (16_384 // registers_of_warp)

    blocks = min(
        32,
        64 // warps_of_block,
        warps_by_registers // warps_of_block,
        228 * 1024 // (shared_bytes + 1024),
    )
    return blocks * warps_of_block
    #<
