// rate_shuffle.cu -- how many exchanges between lanes a second a multiprocessor makes
//
// Computes   y[thread] = sum of CHAINS values that went from lane to lane, `turns` x STEPS times by
//            the butterfly of `lanes`
// Idea       As in rate_arithmetic.cu, with shfl.sync as the operation.
// Arrays     y: int32, shape (threads of the grid,).
// Launch     block = (multiple of 32, 1, 1); grid = (any, 1).
// Sizes      turns >= 1, 1 <= lanes <= 31.
// Memory     no shared, no constant.
// Constants  CHAINS, STEPS of a turn (odd).
// Reference  evidence.rates.kernels

#ifndef CHAINS
#define CHAINS 8
#endif
#ifndef STEPS
#define STEPS 15
#endif

extern "C" __global__ void rate_shuffle(int* y, int lanes, int turns)
{
    int x[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        x[chain] = threadIdx.x + 1000 * chain;
    }

    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int count = 0; count < STEPS; ++count) {
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) {
                x[chain] = __shfl_xor_sync(0xFFFFFFFFu, x[chain], lanes);
            }
        }
    }

    int sum = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        sum += x[chain];
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
