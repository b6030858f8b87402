// %%kernel conv2d_implicit_gemm_fast -DTILE_WIDTH=16 -DFILTER_WIDTH=7
__global__ void conv2d_implicit_gemm_fast(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];   // filter:   [output map][step along inner]
    __shared__ float tile_x[TILE_WIDTH][TILE_WIDTH];   // unrolled: [step along inner][output]
    const unsigned K = FILTER_WIDTH;   // a number that the compiler knows; unsigned divides faster
    const int out_w = W - FILTER_WIDTH + 1;
    const int cols = (H - FILTER_WIDTH + 1) * out_w;
    const int inner = C * FILTER_WIDTH * FILTER_WIDTH;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int col = blockIdx.x * TILE_WIDTH + tx;
    const float* image = x + (size_t)blockIdx.z * C * H * W;
    //> What does not change in the loop? Compute it here, once.
    const float* corner = image + col / out_w * W + col % out_w;
    //<

    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE_WIDTH) {
        // Load. A cell beyond a matrix is a zero: it adds nothing, so the sum below has no guard.
        const int i_a = first + tx;
        tile_a[ty][tx] = row < M && i_a < inner ? filter[row * inner + i_a] : 0.0f;

        float cell = 0.0f;
        const unsigned i_x = first + ty;
        if (i_x < inner && col < cols) {
            //> Load the cell, and divide only by K and K * K.
            cell = corner[(i_x / (K * K) * H + i_x % (K * K) / K) * W + i_x % K];
            //<
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
