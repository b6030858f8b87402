// conv2d_implicit_gemm.cu -- convolution as a product of matrices, one of them never stored
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q],
//            out_h = H-K+1, out_w = W-K+1
// Idea       gemm_tiled of the filter (M x C*K*K) and the unrolled image, but a cell of the
//            unrolled matrix is looked up in x while its tile is loaded. Row i of that matrix
//            stands for (c, p, q), column j for (h, w): finding them takes integer divisions by
//            K*K, K and out_w, per element, in the loop. Slow on purpose; see ..._fast.
// Arrays     x: float32, (B, C, H, W). filter: (M, C, K, K). y: (B, M, out_h, out_w). No two may
//            alias.
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(out_h*out_w / TILE_WIDTH), ceil(M / TILE_WIDTH), B):
//            the whole batch in one launch
// Sizes      K <= H and W; any C, M; B <= 65,535; one image, one filter and the outputs of one
//            image < 2^31 cells.
// Memory     shared: 2 * TILE_WIDTH^2 * 4 bytes, static.
// Constants  TILE_WIDTH by -D, 1 to 32 (default below).
// Reference  helpers.reference.conv2d

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

extern "C" __global__ void conv2d_implicit_gemm(
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
            const int c = i_x / (K * K);
            const int p = i_x % (K * K) / K;
            const int q = i_x % K;
            const int h = col / out_w;
            const int w = col % out_w;
            cell = image[(c * H + h + p) * W + w + q];
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
