// gemm_vector.cu -- product of matrices, shared memory read 16 bytes at a time
//
// Computes   Y[r, s] = sum_i A[r, i] * X[i, s]
// Idea       gemm_patch reads 16 staged cells one by one for 64 multiply-adds. If the cells that a
//            thread needs lie side by side, one instruction reads four. The tile of A is therefore
//            stored by columns, and the thread's patch is four quarters of 4 x 4 outputs, half a
//            tile apart: the lanes of a warp still read neighbouring 16 bytes, and store them.
// Arrays     A: float32, (rows, inner). X: float32, (inner, cols). Y: float32, (rows, cols),
//            aligned to 16 bytes where cols is a multiple of 4. No two may alias.
// Launch     block = (256, 1, 1); grid = (ceil(cols / 128), ceil(rows / 128), 1)
// Sizes      any cols, inner >= 1; rows <= 65,535 * 128; each matrix < 2^31 cells
// Memory     shared: DEPTH * (2 * 128 + 4) * 4 bytes, static
// Constants  DEPTH (of a step along `inner`, a multiple of 8) by -D (default below)
// Reference  numpy: A @ X

#ifndef DEPTH
#define DEPTH 16
#endif
constexpr int TILE = 128;      // rows and columns of a block's outputs
constexpr int HALF = TILE / 2;
constexpr int ACROSS = 16;     // threads along a row of the tile
constexpr int THREADS = ACROSS * ACROSS;
// A warp stages 8 neighbouring steps (32 bytes, a sector) of 4 rows of A. With 4 cells behind each
// column of the tile, these 32 cells lie in 32 banks.
constexpr int STEPS = 8;
constexpr int PITCH = TILE + 4;

extern "C" __global__ void __launch_bounds__(THREADS) gemm_vector(
    float* Y, const float* A, const float* X, int rows, int cols, int inner)
{
    __shared__ __align__(16) float tile_a[DEPTH][PITCH];   // [step along inner][row of the tile]
    __shared__ __align__(16) float tile_x[DEPTH][TILE];    // [step along inner][column of it]
    const int top = blockIdx.y * TILE;
    const int left = blockIdx.x * TILE;
    const int tx = threadIdx.x % ACROSS * 4;   // first column of a quarter
    const int ty = threadIdx.x / ACROSS * 4;   // first row of a quarter

    float sum[8][8] = {};
    for (int first = 0; first < inner; first += DEPTH) {
        // Load. Neighbouring threads load neighbouring cells; a cell beyond a matrix is a zero.
        for (int cell = threadIdx.x; cell < TILE * DEPTH; cell += THREADS) {
            const int step = cell / (TILE * STEPS) * STEPS + cell % STEPS;
            const int of_tile = cell / STEPS % TILE;
            const int row = top + of_tile;
            const int i = first + step;
            const bool inside = row < rows && i < inner;
            tile_a[step][of_tile] = inside ? A[row * inner + i] : 0.0f;
        }
        for (int cell = threadIdx.x; cell < DEPTH * TILE; cell += THREADS) {
            const int i = first + cell / TILE;
            const int col = left + cell % TILE;
            const bool inside = i < inner && col < cols;
            tile_x[cell / TILE][cell % TILE] = inside ? X[i * cols + col] : 0.0f;
        }
        __syncthreads();   // the sums read what other threads have staged

        // Compute: 4 reads, 64 multiply-adds.
        #pragma unroll
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float a[8];
            __align__(16) float x[8];
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                *reinterpret_cast<float4*>(a + 4 * half) =
                    *reinterpret_cast<const float4*>(&tile_a[i][ty + half * HALF]);
                *reinterpret_cast<float4*>(x + 4 * half) =
                    *reinterpret_cast<const float4*>(&tile_x[i][tx + half * HALF]);
            }
            #pragma unroll
            for (int r = 0; r < 8; ++r) {
                #pragma unroll
                for (int s = 0; s < 8; ++s) {
                    sum[r][s] += a[r] * x[s];
                }
            }
        }
        __syncthreads();   // nobody may overwrite the tiles while others still read them
    }

    // Store. Rows and columns from 4 on are those of the other quarters. Four neighbours are one
    // store of 16 bytes where all rows of Y begin at a multiple of that.
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
        const int row = top + ty + r % 4 + r / 4 * HALF;
        #pragma unroll
        for (int s = 0; s < 8; s += 4) {
            const int col = left + tx + s / 4 * HALF;
            float* to = Y + row * cols + col;
            if (cols % 4 == 0) {
                if (row < rows && col < cols) {
                    *reinterpret_cast<float4*>(to) =
                        make_float4(sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]);
                }
            } else {
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (row < rows && col + i < cols) to[i] = sum[r][s + i];
                }
            }
        }
    }
}
