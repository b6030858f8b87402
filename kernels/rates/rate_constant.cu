// rate_constant.cu -- how many loads of constant memory a second a multiprocessor makes
//
// Computes   y[thread] = sum of the cells of `table` that the thread reads
// Idea       The place is only known at run time, so each load is an instruction of its own and no
//            operand. Where all lanes begin at one word, one broadcast serves a load; where each
//            begins at another, their words are served one after the other.
// Arrays     first: int32, shape (32,), where a lane begins; y: int32, (threads of the grid,).
// Launch     block = (any, 1, 1); grid = (any, 1).
// Sizes      turns >= 1; first[lane] in [0, 31].
// Memory     constant: 256 * 4 bytes in `table`.
// Constants  LOADS of a turn.
// Reference  evidence.rates.kernels

#ifndef LOADS
#define LOADS 32
#endif

__constant__ int table[256];

extern "C" __global__ void rate_constant(int* y, const int* first, int turns)
{
    const int own = first[threadIdx.x % 32];
    int sum = 0;

    for (int turn = 0; turn < turns; ++turn) {
        const int at = (own + turn) & 31;  // another place in each turn
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            sum += table[at + 4 * k];
        }
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
