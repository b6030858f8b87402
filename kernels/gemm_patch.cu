// gemm_patch.cu -- product of matrices, a patch of outputs in the registers of a thread
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s]
// Idea       A thread computes PATCH x PATCH outputs. For one step along `inner` it reads PATCH
//            staged cells of A and PATCH of X into registers, and multiplies each with each: 64
//            multiply-adds for 16 reads, where gemm_column has 8 for 9.
// Arrays     A: float32, (rows, inner). X: float32, (inner, cols). Y: float32, (rows, cols). No two
//            may alias.
// Launch     block = ((TILE / PATCH)^2, 1, 1); grid = (ceil(cols / TILE), ceil(rows / TILE), 1)
// Sizes      any cols, inner >= 1; rows <= 65,535 * TILE; each matrix < 2^31 cells
// Memory     shared: 2 * TILE * DEPTH * 4 bytes, static
// Constants  TILE (rows and columns of a block's outputs), DEPTH (of a step along `inner`), PATCH
//            (rows and columns of a thread's outputs) by -D (defaults below); TILE is a multiple of
//            PATCH
// Reference  numpy: A @ X

#ifndef TILE
#define TILE 128
#endif
#ifndef DEPTH
#define DEPTH 8
#endif
#ifndef PATCH
#define PATCH 8
#endif
#define ACROSS (TILE / PATCH)   // threads along a row of the tile
#define THREADS (ACROSS * ACROSS)

extern "C" __global__ void __launch_bounds__(THREADS) gemm_patch(
    float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[TILE][DEPTH];   // [row of the tile][step along inner]
    __shared__ float tile_x[DEPTH][TILE];   // [step along inner][column of the tile]
    const int top = blockIdx.y * TILE;
    const int left = blockIdx.x * TILE;
    // A thread has every ACROSS-th row and column from these on: the lanes of a warp then read
    // neighbouring cells of X, and store neighbouring outputs.
    const int tx = threadIdx.x % ACROSS;
    const int ty = threadIdx.x / ACROSS;

    float sum[PATCH][PATCH] = {};
    for (int first = 0; first < inner; first += DEPTH) {
        // Load. Neighbouring threads load neighbouring cells; a cell beyond a matrix is a zero.
        for (int cell = threadIdx.x; cell < TILE * DEPTH; cell += THREADS) {
            const int row = top + cell / DEPTH;
            const int i = first + cell % DEPTH;
            const bool inside = row < rows && i < inner;
            tile_a[cell / DEPTH][cell % DEPTH] = inside ? A[row * inner + i] : 0.0f;
        }
        for (int cell = threadIdx.x; cell < DEPTH * TILE; cell += THREADS) {
            const int i = first + cell / TILE;
            const int col = left + cell % TILE;
            const bool inside = i < inner && col < cols;
            tile_x[cell / TILE][cell % TILE] = inside ? X[i * cols + col] : 0.0f;
        }
        __syncthreads();   // the sums read what other threads have staged

        // Compute: 2 PATCH reads, PATCH * PATCH multiply-adds.
        for (int i = 0; i < DEPTH; ++i) {
            float a[PATCH];
            float x[PATCH];
            #pragma unroll
            for (int p = 0; p < PATCH; ++p) {
                a[p] = tile_a[ty + p * ACROSS][i];
                x[p] = tile_x[i][tx + p * ACROSS];
            }
            #pragma unroll
            for (int r = 0; r < PATCH; ++r) {
                #pragma unroll
                for (int s = 0; s < PATCH; ++s) {
                    sum[r][s] += a[r] * x[s];
                }
            }
        }
        __syncthreads();   // nobody may overwrite the tiles while others still read them
    }

    // Store.
    #pragma unroll
    for (int r = 0; r < PATCH; ++r) {
        const int row = top + ty + r * ACROSS;
        #pragma unroll
        for (int s = 0; s < PATCH; ++s) {
            const int col = left + tx + s * ACROSS;
            if (row < rows && col < cols) {
                Y[row * cols + col] = sum[r][s];
            }
        }
    }
}
