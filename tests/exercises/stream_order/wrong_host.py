def mend(pipe):
    into, compute, out = pipe.streams(3)
    for piece in range(pipe.pieces):
        pipe.h2d(piece, into)
        into.synchronize()
        pipe.kernel(piece, compute)
        compute.synchronize()
        pipe.d2h(piece, out)
        out.synchronize()
