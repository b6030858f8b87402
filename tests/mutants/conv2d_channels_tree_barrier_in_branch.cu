// conv2d_channels_tree_barrier_in_branch.cu -- WRONG ON PURPOSE: the barriers of the tree stand inside the guard of the output
//
// Mutant of  conv2d_channels_tree (lab 15)
// Wrong      in a ragged tile some threads of the block never come to them, which is undefined; two course reports did this.
// Message    simulator: barrier

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef CHANNEL_THREADS
#define CHANNEL_THREADS 4
#endif
#if CHANNEL_THREADS & (CHANNEL_THREADS - 1)
#error "conv2d_channels_tree_barrier_in_branch: CHANNEL_THREADS must be a power of two"
#endif

extern "C" __global__ void conv2d_channels_tree_barrier_in_branch(float* y, const float* x, const float* filter, int B, int C, int M,
                                                int H, int W, int K)
{
    __shared__ float partial[CHANNEL_THREADS][TILE_WIDTH * TILE_WIDTH];
    const int out_h = H - K + 1, out_w = W - K + 1;
    const int tiles = (out_w + TILE_WIDTH - 1) / TILE_WIDTH;                   // along the columns
    const int w = blockIdx.x % tiles * TILE_WIDTH + threadIdx.x;
    const int h = blockIdx.x / tiles * TILE_WIDTH + threadIdx.y;
    const int m = blockIdx.y, b = blockIdx.z;
    const int mine = threadIdx.y * TILE_WIDTH + threadIdx.x;                   // the output, in [0, TILE_WIDTH^2)
    const bool inside = h < out_h && w < out_w;

    // Compute. A thread without an output or without a channel adds nothing, and goes on to the barriers.
    const float* image = x + (long long)b * C * H * W;                         // 64 bits: images are many
    float sum = 0.0f;
    for (int c = threadIdx.z; inside && c < C; c += CHANNEL_THREADS) {
        for (int p = 0; p < K; ++p) {
            for (int q = 0; q < K; ++q) {
                sum += image[(c * H + h + p) * W + w + q] * filter[((m * C + c) * K + p) * K + q];
            }
        }
    }
    partial[threadIdx.z][mine] = sum;

    // Reduce. Each step reads what the step before wrote, hence a barrier before each; no branch stands around them.
    if (inside) for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.z < half) partial[threadIdx.z][mine] += partial[threadIdx.z + half][mine];
    }

    // Store. partial[0][mine] was last written by this same thread: no barrier is needed.
    if (inside && threadIdx.z == 0) y[(((long long)b * M + m) * out_h + h) * out_w + w] = partial[0][mine];
}
