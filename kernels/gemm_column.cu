// gemm_column.cu -- product of matrices, a column of outputs in the registers of a thread
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s]
// Idea       gemm_tiled reads two staged cells for each multiply-add. Here a thread computes PATCH
//            outputs of one column: it reads a staged cell of X once and multiplies it PATCH times.
//            A multiply-add needs 1 + 1 / PATCH reads of shared memory.
// Arrays     A: float32, (rows, inner). X: float32, (inner, cols). Y: float32, (rows, cols). No two
//            may alias.
// Launch     block = (TILE * TILE / PATCH, 1, 1);
//            grid = (ceil(cols / TILE), ceil(rows / TILE), 1)
// Sizes      any cols, inner >= 1; rows <= 65,535 * TILE; each matrix < 2^31 cells
// Memory     shared: 2 * TILE * DEPTH * 4 bytes, static
// Constants  TILE (rows and columns of a block's outputs), DEPTH (of a step along `inner`), PATCH
//            (outputs of a thread) by -D (defaults below); TILE is a multiple of PATCH and of
//            DEPTH
// Reference  numpy: A @ X

#ifndef TILE
#define TILE 64
#endif
#ifndef DEPTH
#define DEPTH 8
#endif
#ifndef PATCH
#define PATCH 8
#endif
#define THREADS (TILE * TILE / PATCH)

extern "C" __global__ void __launch_bounds__(THREADS) gemm_column(
    float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[TILE][DEPTH];   // [row of the tile][step along inner]
    __shared__ float tile_x[DEPTH][TILE];   // [step along inner][column of the tile]
    const int top = blockIdx.y * TILE;
    const int left = blockIdx.x * TILE;
    const int column = threadIdx.x % TILE;           // of the thread's outputs, in the tile
    const int patch = threadIdx.x / TILE * PATCH;    // its first row, in the tile

    float sum[PATCH] = {};
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

        // Compute. The cell of X stays in a register for PATCH products.
        for (int i = 0; i < DEPTH; ++i) {
            const float x = tile_x[i][column];
            #pragma unroll
            for (int r = 0; r < PATCH; ++r) {
                sum[r] += tile_a[patch + r][i] * x;
            }
        }
        __syncthreads();   // nobody may overwrite the tiles while others still read them
    }

    // Store.
    const int col = left + column;
    #pragma unroll
    for (int r = 0; r < PATCH; ++r) {
        const int row = top + patch + r;
        if (row < rows && col < cols) {
            Y[row * cols + col] = sum[r];
        }
    }
}
