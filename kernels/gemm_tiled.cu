// gemm_tiled.cu -- product of matrices, tiles of both factors in shared memory, a batch along z
//
// Computes   Y[b, r, s] = sum_i A[r, i] * X[b, i, s],   A is the same for all b
// Idea       A block makes a TILE_WIDTH x TILE_WIDTH tile of Y[b]. It walks along `inner` in steps
//            of TILE_WIDTH: stage a tile of A and one of X, then add their product. Each staged
//            cell is used TILE_WIDTH times. With fewer rows than TILE_WIDTH the other threads load
//            and multiply zeros: 4 rows fill an eighth of 32.
// Arrays     A: float32, (rows, inner). X: float32, (B, inner, cols). Y: float32, (B, rows, cols).
//            No two may alias. As a layer: A is the filter (M, C*K*K), X the unrolled images, Y is
//            y (B, M, out_h*out_w).
// Launch     block = (TILE_WIDTH, TILE_WIDTH, 1);
//            grid = (ceil(cols / TILE_WIDTH), ceil(rows / TILE_WIDTH), B)
// Sizes      any cols, inner >= 1; rows <= 65,535 * TILE_WIDTH; B <= 65,535; one matrix < 2^31
//            cells, all of them together may be more.
// Memory     shared: 2 * TILE_WIDTH^2 * 4 bytes, static.
// Constants  TILE_WIDTH by -D, 1 to 32 (default below).
// Reference  helpers.reference.conv2d, after im2col_basic

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

extern "C" __global__ void gemm_tiled(
    float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];   // [row of the tile][step along inner]
    __shared__ float tile_x[TILE_WIDTH][TILE_WIDTH];   // [step along inner][column of the tile]
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int col = blockIdx.x * TILE_WIDTH + tx;
    const float* matrix = X + (size_t)blockIdx.z * inner * cols;

    float sum = 0.0f;
    for (int first = 0; first < inner; first += TILE_WIDTH) {
        // Load. A cell beyond a matrix is a zero: it adds nothing, so the sum below has no guard.
        const int i_a = first + tx;
        const int i_x = first + ty;
        tile_a[ty][tx] = row < rows && i_a < inner ? A[row * inner + i_a] : 0.0f;
        tile_x[ty][tx] = i_x < inner && col < cols ? matrix[i_x * cols + col] : 0.0f;
        __syncthreads();   // the sum reads what other threads have staged

        // Compute. A row of A is the same word for all lanes of a row, X is one word per lane: no
        // bank conflicts.
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
