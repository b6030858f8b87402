def in_turn(pipe):
    """Append the work of all pieces, and wait for nothing."""
    streams = pipe.streams(pipe.buffers)  # a stream for each buffer
    for piece in range(pipe.pieces):
        #> Choose the piece's stream, and append all three works: pipe.h2d, pipe.kernel, pipe.d2h.
        #= pipe.h2d(piece, streams[0])
        stream = streams[piece % pipe.buffers]
        pipe.h2d(piece, stream)
        pipe.kernel(piece, stream)
        pipe.d2h(piece, stream)
        #<
