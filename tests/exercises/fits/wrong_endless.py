def fits(columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M):
    while True:
        pass
