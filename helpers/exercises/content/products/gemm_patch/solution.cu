// %%kernel gemm_patch -DTILE=128 -DDEPTH=8 -DPATCH=8
#define ACROSS (TILE / PATCH)                        // threads along a row of the tile
#define THREADS (ACROSS * ACROSS)
__global__ void gemm_patch(float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[TILE][DEPTH];            // [row of the tile][step along inner]
    __shared__ float tile_x[DEPTH][TILE];            // [step along inner][column of the tile]
    const int top = blockIdx.y * TILE;
    const int left = blockIdx.x * TILE;
    const int tx = threadIdx.x % ACROSS;
    const int ty = threadIdx.x / ACROSS;

    float sum[PATCH][PATCH] = {};                    // of rows ty + r * ACROSS, columns tx + s * ACROSS
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
        for (int i = 0; i < DEPTH; ++i) {
            float a[PATCH], x[PATCH];
            //> Read 8 cells of A and 8 of X into registers, a and x.
            #pragma unroll
            for (int p = 0; p < PATCH; ++p) {
                a[p] = tile_a[ty + p * ACROSS][i];
                x[p] = tile_x[i][tx + p * ACROSS];
            }
            //<

            //> Multiply each with each: 64 products for 16 reads.
            #pragma unroll
            for (int r = 0; r < PATCH; ++r) {
                #pragma unroll
                for (int s = 0; s < PATCH; ++s) {
                    sum[r][s] += a[r] * x[s];
                }
            }
            //<
        }
        __syncthreads();
    }
    #pragma unroll
    for (int r = 0; r < PATCH; ++r) {
        #pragma unroll
        for (int s = 0; s < PATCH; ++s) {
            const int row = top + ty + r * ACROSS, col = left + tx + s * ACROSS;
            if (row < rows && col < cols) Y[row * cols + col] = sum[r][s];
        }
    }
}
