// %%kernel implicit_counting -DTILE=16
__global__ void implicit_counting(float* y, const float* x, const float* filter,
                                  int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile_a[TILE][TILE], tile_x[TILE][TILE];
    const int out_w = W - K + 1, cols = (H - K + 1) * out_w, inner = C * K * K;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    const float* corner = x + (size_t)blockIdx.z * C * H * W + col / out_w * W + col % out_w;
    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE) {
        const int i = first + ty, c = i / (K * K), p = i % (K * K) / K, q = i % K;
        tile_a[ty][tx] = row < M && first + tx < inner ? filter[row * inner + first + tx] : 0.0f;
        tile_x[ty][tx] = first + ty < inner && col < cols ? corner[(c * H + p) * W + q] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += tile_a[ty][k] * tile_x[k][tx];
        __syncthreads();
    }
    if (row < M && col < cols) y[((size_t)blockIdx.z * M + row) * cols + col] = sum;
}
