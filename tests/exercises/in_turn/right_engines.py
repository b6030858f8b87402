def in_turn(pipe):
    into, compute, out = pipe.streams(3)
    kernels, copies = [], []
    for piece in range(pipe.pieces):
        if len(kernels) >= pipe.buffers:
            into.wait_for_event(kernels[-pipe.buffers])
        arrived = pipe.h2d(piece, into)
        compute.wait_for_event(arrived)
        if len(copies) >= pipe.buffers:
            compute.wait_for_event(copies[-pipe.buffers])
        kernels.append(pipe.kernel(piece, compute))
        out.wait_for_event(kernels[-1])
        copies.append(pipe.d2h(piece, out))
