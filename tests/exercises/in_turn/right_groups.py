def in_turn(pipe):
    streams = pipe.streams(pipe.buffers)
    for first in range(0, pipe.pieces, pipe.buffers):
        group = range(first, min(first + pipe.buffers, pipe.pieces))
        for work in (pipe.h2d, pipe.kernel, pipe.d2h):
            for piece in group:
                work(piece, streams[piece - first])
