def mend(pipe):
    into, compute, out = pipe.streams(3)
    computed, back = [], []
    for piece in range(pipe.pieces):
        into.wait_for_event(computed[piece - pipe.buffers])
        compute.wait_for_event(pipe.h2d(piece, into))
        computed.append(pipe.kernel(piece, compute))
        out.wait_for_event(computed[-1])
        back.append(pipe.d2h(piece, out))
