// %%kernel gemm_column -DTILE=64 -DDEPTH=8 -DPATCH=8
#define THREADS (TILE * TILE / PATCH)
__global__ void gemm_column(float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[TILE][DEPTH];            // [row of the tile][step along inner]
    __shared__ float tile_x[DEPTH][TILE];            // [step along inner][column of the tile]
    const int top = blockIdx.y * TILE;
    const int left = blockIdx.x * TILE;
    const int column = threadIdx.x % TILE;           // of the thread's outputs, in the tile
    const int patch = threadIdx.x / TILE * PATCH;    // the first of their 8 rows, in the tile

    float sum[PATCH] = {};
    for (int first = 0; first < inner; first += DEPTH) {
        for (int cell = threadIdx.x; cell < TILE * DEPTH; cell += THREADS) {
            const int row = top + cell / DEPTH, i = first + cell % DEPTH;
            tile_a[cell / DEPTH][cell % DEPTH] =
                row < rows && i < inner ? A[row * inner + i] : 0.0f;
        }
        for (int cell = threadIdx.x; cell < DEPTH * TILE; cell += THREADS) {
            const int i = first + cell / TILE, col = left + cell % TILE;
            tile_x[cell / TILE][cell % TILE] = i < inner && col < cols ? X[i * cols + col] : 0.0f;
        }
        __syncthreads();
        //> For each of the DEPTH steps: read the cell of X in your column once, and add its product
        //> with a cell of A to each of your 8 sums.
        for (int i = 0; i < DEPTH; ++i) {
            const float x = tile_x[i][column];
            #pragma unroll
            for (int r = 0; r < PATCH; ++r) {
                sum[r] += tile_a[patch + r][i] * x;
            }
        }
        //<
        __syncthreads();
    }
    //> Store your sums: row patch + r of the tile, where Y has that row and column.
    #pragma unroll
    for (int r = 0; r < PATCH; ++r) {
        const int row = top + patch + r, col = left + column;
        if (row < rows && col < cols) Y[row * cols + col] = sum[r];
    }
    //<
}
