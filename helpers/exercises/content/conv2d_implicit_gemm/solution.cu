// %%kernel conv2d_implicit_gemm -DTILE_WIDTH=16
__global__ void conv2d_implicit_gemm(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];   // filter:   [output map][step along inner]
    __shared__ float tile_x[TILE_WIDTH][TILE_WIDTH];   // unrolled: [step along inner][output]
    const int out_w = W - K + 1;
    const int cols = (H - K + 1) * out_w;
    const int inner = C * K * K;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int col = blockIdx.x * TILE_WIDTH + tx;
    const float* image = x + (size_t)blockIdx.z * C * H * W;

    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE_WIDTH) {
        // Load. A cell beyond a matrix is a zero: it adds nothing, so the sum below has no guard.
        const int i_a = first + tx;
        tile_a[ty][tx] = row < M && i_a < inner ? filter[row * inner + i_a] : 0.0f;

        float cell = 0.0f;
        const int i_x = first + ty;
        if (i_x < inner && col < cols) {
            //> Row i_x of the unrolled matrix stands for the filter cell (c, p, q), column col for
            //> the output (h, w). Find the five numbers, and load the cell of the image.
            const int c = i_x / (K * K);
            const int p = i_x % (K * K) / K;
            const int q = i_x % K;
            const int h = col / out_w;
            const int w = col % out_w;
            cell = image[(c * H + h + p) * W + w + q];
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
