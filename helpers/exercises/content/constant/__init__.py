"""Lab 109: a layer's filter in constant memory, whole and in chunks."""

LAB = "109_conv2d_constant_memory"
TILE = 16  # threads along each side of a block
