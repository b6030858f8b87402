// conv2d_implicit_gemm_fast.cu -- the implicit GEMM without a division in its loop
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q],
//            out_h = H-K+1, out_w = W-K+1
// Idea       As conv2d_implicit_gemm, tile for tile. The output's (h, w) does not change, so a
//            thread finds it once, before the loop. (c, p, q) changes; it takes divisions by a
//            filter width that the compiler knows, and the compiler turns / and % by a constant
//            into a multiplication and a shift.
// Arrays     x: float32, (B, C, H, W). filter: (M, C, K, K). y: (B, M, out_h, out_w). No two may
//            alias.
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(out_h*out_w / TILE_WIDTH), ceil(M / TILE_WIDTH), B):
//            the whole batch in one launch
// Sizes      K <= H and W; any C, M; B <= 65,535; one image, one filter and the outputs of one
//            image < 2^31 cells.
// Memory     shared: 2 * TILE_WIDTH^2 * 4 bytes, static.
// Constants  TILE_WIDTH by -D, 1 to 32, FILTER_WIDTH (= K) by -D (defaults below).
// Reference  helpers.reference.conv2d

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif

extern "C" __global__ void conv2d_implicit_gemm_fast(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];   // filter:   [output map][step along inner]
    __shared__ float tile_x[TILE_WIDTH][TILE_WIDTH];   // unrolled: [step along inner][output]
    // K is unsigned: a signed division has to round towards zero, at extra cost.
    const unsigned K = FILTER_WIDTH;
    const int out_w = W - FILTER_WIDTH + 1;
    const int cols = (H - FILTER_WIDTH + 1) * out_w;
    const int inner = C * FILTER_WIDTH * FILTER_WIDTH;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int col = blockIdx.x * TILE_WIDTH + tx;
    // The input cell under the filter's first one, for this thread's column: the only division at
    // run time.
    const float* corner = x + (size_t)blockIdx.z * C * H * W + col / out_w * W + col % out_w;

    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE_WIDTH) {
        // Load. A cell beyond a matrix is a zero: it adds nothing, so the sum below has no guard.
        tile_a[ty][tx] = row < M && first + tx < inner ? filter[row * inner + first + tx] : 0.0f;

        const unsigned i = first + ty;
        float cell = 0.0f;
        if (i < inner && col < cols) {
            cell = corner[(i / (K * K) * H + i % (K * K) / K) * W + i % K];
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
