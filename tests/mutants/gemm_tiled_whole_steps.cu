// gemm_tiled_whole_steps.cu -- WRONG ON PURPOSE: the last, partial step along inner is left out
//
// Mutant of  gemm_tiled (lab 11)
// Wrong      the loop makes inner / TILE_WIDTH whole steps; where TILE_WIDTH does not divide inner, the rest is never
//            added.
// Message    check: all

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

extern "C" __global__ void gemm_tiled_whole_steps(float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];   // [row of the tile][step along inner]
    __shared__ float tile_x[TILE_WIDTH][TILE_WIDTH];   // [step along inner][column of the tile]
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int col = blockIdx.x * TILE_WIDTH + tx;
    const float* matrix = X + (size_t)blockIdx.z * inner * cols;

    float sum = 0.0f;
    for (int first = 0; first + TILE_WIDTH <= inner; first += TILE_WIDTH) {
        // Load. A cell beyond a matrix is a zero: it adds nothing, and the sum below needs no guard.
        const int i_a = first + tx;
        const int i_x = first + ty;
        tile_a[ty][tx] = row < rows && i_a < inner ? A[row * inner + i_a] : 0.0f;
        tile_x[ty][tx] = i_x < inner && col < cols ? matrix[i_x * cols + col] : 0.0f;
        __syncthreads();   // the sum reads what other threads have staged

        // Compute. A row of A is the same word for all lanes of a row, X is one word per lane: no bank conflicts.
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += tile_a[ty][k] * tile_x[k][tx];
        }
        __syncthreads();   // nobody may overwrite the tiles while others still read them
    }

    // Store.
    if (row < rows && col < cols) {
        Y[((size_t)blockIdx.z * rows + row) * cols + col] = sum;
    }
}
