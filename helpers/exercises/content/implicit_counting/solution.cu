// %%kernel implicit_counting -DTILE=16
__global__ void implicit_counting(float* y, const float* x, const float* filter,
                                  int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile_a[TILE][TILE];            // filter:   [output map][step along inner]
    __shared__ float tile_x[TILE][TILE];            // unrolled: [step along inner][output]
    const int out_w = W - K + 1, cols = (H - K + 1) * out_w, inner = C * K * K;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    const float* corner = x + (size_t)blockIdx.z * C * H * W + col / out_w * W + col % out_w;
    float sum = 0.0f;

    //> Before the loop you may divide as often as you like. Which (c, p, q) is row ty of the matrix?
    int c = ty / (K * K), p = ty % (K * K) / K, q = ty % K;
    const int dc = TILE / (K * K), dp = TILE % (K * K) / K, dq = TILE % K;
    //<
    for (int first = 0; first < inner; first += TILE) {
        //> Load both tiles. The cell for tile_x is corner[(c * H + p) * W + q].
        tile_a[ty][tx] = row < M && first + tx < inner ? filter[row * inner + first + tx] : 0.0f;
        tile_x[ty][tx] = first + ty < inner && col < cols ? corner[(c * H + p) * W + q] : 0.0f;
        //<

        //> Add the 16 products of this step to sum. Where do you need a barrier?
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += tile_a[ty][k] * tile_x[k][tx];
        __syncthreads();
        //<

        //> Make (c, p, q) those of the row that lies TILE rows further on, without a division.
        c += dc, p += dp, q += dq;
        if (q >= K) { q -= K; ++p; }
        if (p >= K) { p -= K; ++c; }
        //<
    }
    if (row < M && col < cols) y[((size_t)blockIdx.z * M + row) * cols + col] = sum;
}
