// conv2d_implicit_gemm_fast_flipped.cu -- WRONG ON PURPOSE: the filter is turned by half a circle
//
// Mutant of  conv2d_implicit_gemm_fast (lab 12)
// Wrong      the unrolled matrix is looked up with its rows in reverse order: a convolution with a flipped filter.
// Message    check: suspect (the filter is flipped)

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif

extern "C" __global__ void conv2d_implicit_gemm_fast_flipped(float* y, const float* x, const float* filter,
                                                             int B, int C, int M, int H, int W)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];   // filter:   [output map][step along inner]
    __shared__ float tile_x[TILE_WIDTH][TILE_WIDTH];   // unrolled: [step along inner][output]
    const unsigned K = FILTER_WIDTH;   // unsigned: a signed division has to round towards zero, at extra cost
    const int out_w = W - FILTER_WIDTH + 1;
    const int cols = (H - FILTER_WIDTH + 1) * out_w;
    const int inner = C * FILTER_WIDTH * FILTER_WIDTH;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int col = blockIdx.x * TILE_WIDTH + tx;
    // The input cell under the filter's first one, for this thread's column: the only division at run time.
    const float* corner = x + (size_t)blockIdx.z * C * H * W + col / out_w * W + col % out_w;

    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE_WIDTH) {
        // Load. A cell beyond a matrix is a zero: it adds nothing, and the sum below needs no guard.
        tile_a[ty][tx] = row < M && first + tx < inner ? filter[row * inner + first + tx] : 0.0f;

        const unsigned i = first + ty;
        float cell = 0.0f;
        if (i < inner && col < cols) {
            cell = corner[(i / (K * K) * H + K - 1 - i % (K * K) / K) * W + K - 1 - i % K];
        }
        tile_x[ty][tx] = cell;
        __syncthreads();   // the sum reads what other threads have staged

        // Compute.
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += tile_a[ty][k] * tile_x[k][tx];
        }
        __syncthreads();   // nobody may overwrite the tiles while others still read them
    }

    // Store.
    if (row < M && col < cols) {
        y[((size_t)blockIdx.z * M + row) * cols + col] = sum;
    }
}
