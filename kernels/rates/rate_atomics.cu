// rate_atomics.cu -- how many atomic updates a second the L2 cache makes
//
// Computes   y[k] += the number of updates that met cell k
// Idea       red.global.add from all warps. Where the lanes update neighbouring words, a request
//            has 4 sectors; STRIDE 8 gives each lane a sector of its own; STRIDE 0 sends all lanes
//            of all warps to one word. n cells fit in L2, and most updates meet other lines than
//            those that are being made.
// Arrays     y: uint32, shape (n,), zero before.
// Launch     block = (any, 1, 1); grid = (any, 1).
// Sizes      n a power of two.
// Memory     no shared, no constant.
// Constants  STRIDE, UPDATES of a turn.
// Reference  evidence.rates.kernels

#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef UPDATES
#define UPDATES 8
#endif

extern "C" __global__ void rate_atomics(unsigned* y, int n, unsigned one, int turns)
{
    const int threads = gridDim.x * blockDim.x;
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * STRIDE & (n - 1);

    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int k = 0; k < UPDATES; ++k) {
            asm volatile("red.global.add.u32 [%0], %1;" : : "l"(&y[at]), "r"(one) : "memory");
            at = (at + threads * STRIDE) & (n - 1);
        }
    }
}
