def resident_warps(threads, registers, shared_bytes):
    """Add one block after another, until one of the resources is used up."""
    warps_of_block = (threads + 31) // 32
    rounded = registers if registers % 8 == 0 else registers + 8 - registers % 8
    room = 0
    while (room + 1) * rounded * 32 <= 16_384:
        room += 1
    blocks = 0
    while (
        blocks < 32
        and (blocks + 1) * warps_of_block <= min(64, 4 * room)
        and (blocks + 1) * (shared_bytes + 1024) <= 228 * 1024
    ):
        blocks += 1
    return blocks * warps_of_block
