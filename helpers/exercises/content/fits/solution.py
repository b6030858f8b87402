def fits(columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M):
    """Return whether a configuration of lab 112's kernel is worth a trial.

    A thread makes columns x rows x maps sums; a block's tile has tile_columns x tile_rows outputs.
    The layer has M output maps of out_h rows and out_w columns.
    """
    #>
    #= return True
    if tile_columns % columns or tile_rows % rows or M % maps:
        return False
    threads = tile_columns // columns * (tile_rows // rows)
    if not 64 <= 32 * -(-threads // 32) <= 256:
        return False
    tiles = -(-out_w // tile_columns) * -(-out_h // tile_rows)
    useful = out_w * out_h / (tiles * tile_columns * tile_rows)
    return 16 <= columns * rows * maps <= 72 and useful >= 0.8
    #<
