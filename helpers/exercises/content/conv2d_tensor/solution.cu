// %%kernel conv2d_tensor -DCHANNELS=4 -DOUTPUT_MAPS=16 -DHEIGHT=40 -DWIDTH=40 -DFILTER_WIDTH=7 -DROWS=16
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int K = FILTER_WIDTH;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int OUTPUTS = (HEIGHT - K + 1) * OUT_W;   // of one map
constexpr int CELLS = CHANNELS * HEIGHT * WIDTH;    // of one image
constexpr int TERMS = CHANNELS * K * K;             // of the sum of one output
constexpr int STEPS = (TERMS + 15) / 16;            // of 16 terms; zeros fill the last one
constexpr int THREADS = 256;                        // of a block: 8 warps
constexpr int COLUMNS = 256 / ROWS;                 // of a fragment: 16, or 32 beside 8 rows
constexpr int F_PITCH = 16 * STEPS + 8;             // halves from a row of F to the next one
constexpr int PITCH = 16;                           // halves from a column of X to the next one

__global__ void conv2d_tensor(float* y, const float* x, const float* filter)
{
    __shared__ __align__(128) __half weights[ROWS * F_PITCH];   // F, a row for each map
    __shared__ __align__(128) __half image[CELLS];
    __shared__ __align__(128) __half columns[THREADS / 32][32 * PITCH];   // a step of X, by warp
    __shared__ __align__(128) float sums[THREADS / 32][256];              // a fragment of Y
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int map = blockIdx.y * ROWS;   // the first map of the block
    x += (size_t)blockIdx.z * CELLS;
    y += ((size_t)blockIdx.z * OUTPUT_MAPS + map) * OUTPUTS;

    // Load, and round to half. Missing maps and terms are zeros.
    for (int m = warp; m < ROWS; m += THREADS / 32) {
        for (int term = lane; term < 16 * STEPS; term += 32) {
            const bool inside = map + m < OUTPUT_MAPS && term < TERMS;
            weights[m * F_PITCH + term] = inside ? filter[(map + m) * TERMS + term] : 0.0f;
        }
    }
    for (int i = threadIdx.x; i < CELLS; i += THREADS) {
        image[i] = x[i];
    }
    __syncthreads();   // lanes gather what other threads have loaded

    for (int first = 32 * warp; first < OUTPUTS; first += THREADS) {
        const int output = min(first + lane, OUTPUTS - 1);   // spare lanes repeat the last one
        const __half* corner = image + output / OUT_W * WIDTH + output % OUT_W;
        wmma::fragment<wmma::accumulator, ROWS, COLUMNS, 16, float> sum[32 / COLUMNS];
        for (auto& part : sum) {
            wmma::fill_fragment(part, 0.0f);
        }

        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            // Gather this lane's column: terms 16 * step to 16 * step + 15 of its output.
            __align__(16) __half cells[16];
            #pragma unroll
            for (int i = 0; i < 16; ++i) {
                const int term = 16 * step + i;
                //> Gap 1: find c, p, q of this term. Set cells[i] to that cell of the image, seen
                //> from `corner`; to __half(0.0f) from term TERMS on.
                const int c = term / (K * K);
                const int p = term % (K * K) / K;
                const int q = term % K;
                const int offset = (c * HEIGHT + p) * WIDTH + q;
                cells[i] = term < TERMS ? corner[offset] : __half(0.0f);
                //<
            }
            int4* column = reinterpret_cast<int4*>(columns[warp] + lane * PITCH);
            column[0] = reinterpret_cast<int4*>(cells)[0];   // 16 bytes: 8 cells
            column[1] = reinterpret_cast<int4*>(cells)[1];

            // Multiply.
            wmma::fragment<wmma::matrix_a, ROWS, COLUMNS, 16, __half, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, ROWS, COLUMNS, 16, __half, wmma::col_major> b;
            //> Gap 2: load a (rows of F, from this step's first term on). For each part of the 32
            //> columns, `part` from 0 to 32 / COLUMNS - 1: load b, and add a b to sum[part]. Where
            //> must the lanes of the warp wait for each other?
            __syncwarp();   // a fragment has columns that other lanes gathered
            wmma::load_matrix_sync(a, weights + 16 * step, F_PITCH);
            for (int part = 0; part < 32 / COLUMNS; ++part) {
                wmma::load_matrix_sync(b, columns[warp] + part * COLUMNS * PITCH, PITCH);
                wmma::mma_sync(sum[part], a, b, sum[part]);
            }
            __syncwarp();   // before the next step overwrites the columns
            //<
        }

        // Store through shared memory, without the rows and columns that are padding.
        for (int part = 0; part < 32 / COLUMNS; ++part) {
            wmma::store_matrix_sync(sums[warp], sum[part], COLUMNS, wmma::mem_row_major);
            __syncwarp();
            for (int i = lane; i < 256; i += 32) {
                const int m = i / COLUMNS;
                const int column = first + part * COLUMNS + i % COLUMNS;
                if (map + m < OUTPUT_MAPS && column < OUTPUTS) {
                    y[m * OUTPUTS + column] = sums[warp][i];
                }
            }
            __syncwarp();
        }
    }
}
