def fits(columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M):
    """One condition after the other in a list."""
    threads = (tile_columns / columns) * (tile_rows / rows)
    across = ((out_w - 1) // tile_columns + 1) * tile_columns
    down = ((out_h - 1) // tile_rows + 1) * tile_rows
    return bool(
        all(
            (
                tile_columns % columns == 0,
                tile_rows % rows == 0,
                M % maps == 0,
                32 < threads <= 256,
                columns * rows * maps in range(16, 73),
                5 * out_w * out_h >= 4 * across * down,
            )
        )
    )
