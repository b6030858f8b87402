// conv2d_wmma_sum_in_half.cu -- WRONG ON PURPOSE: the sums are rounded to half after each step
//
// Mutant of  conv2d_wmma (lab 19)
// Wrong      accumulators are float32; here each step ends in half, as an accumulator of __half would.
// Message    check: precision

#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#if TF32
using Element = float; using Operand = wmma::precision::tf32;
__device__ void round_to(Element& to, float value) { to = wmma::__float_to_tf32(value); }
#else
using Element = __half; using Operand = __half;
__device__ void round_to(Element& to, float value) { to = __float2half(value); }
#endif
constexpr int K = FILTER_WIDTH, OUT_W = WIDTH - K + 1, OUTPUTS = (HEIGHT - K + 1) * OUT_W, CELLS = CHANNELS * HEIGHT * WIDTH;
constexpr int TERMS = CHANNELS * K * K, STEP = TF32 ? 8 : 16, STEPS = (TERMS + STEP - 1) / STEP, DEPTH = STEPS * STEP;
constexpr int SKEW = SKEW_BYTES / int(sizeof(Element)), PITCH = STEP + SKEW, WIDE = DEPTH + SKEW;   // of a column, of a filter
constexpr int COLUMNS = ROWS == 8 ? 32 : 16, PARTS = 32 / COLUMNS, PER = 16 / int(sizeof(Element));   // PER: elements in 16 bytes
constexpr int BUFFER = 32 * PITCH, OUT = 160 * ROWS / int(sizeof(Element)), MINE = BUFFERS * BUFFER > OUT ? BUFFERS * BUFFER : OUT;
union Vector { Element element[PER]; int4 whole; __device__ Vector() {} };
extern "C" __global__ void __launch_bounds__(32 * WARPS) conv2d_wmma_sum_in_half(float* y, const float* x, const float* filter)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Element* weights = reinterpret_cast<Element*>(memory);           // [ROWS][WIDE]
    Element* mine = weights + ROWS * WIDE + threadIdx.x / 32 * MINE;  // the warp's columns, [BUFFERS][32][PITCH]
    Element* image = weights + ROWS * WIDE + WARPS * MINE;            // [C][H][W]
    const int lane = threadIdx.x % 32, map = blockIdx.y * ROWS;
    x += (size_t)blockIdx.z * CELLS, y += ((size_t)blockIdx.z * OUTPUT_MAPS + map) * OUTPUTS;
    for (int i = threadIdx.x; i < ROWS * DEPTH; i += 32 * WARPS) {   // Load. Padding is zero: garbage times zero may be NaN
        const int m = i / DEPTH, term = i % DEPTH;
        round_to(weights[m * WIDE + term], map + m < OUTPUT_MAPS && term < TERMS ? filter[(map + m) * TERMS + term] : 0.0f);
    }
    for (int i = threadIdx.x; i < CELLS; i += 32 * WARPS) round_to(image[i], x[i]);
    __syncthreads();   // lanes gather what other threads loaded

    for (int first = threadIdx.x / 32 * 32; first < OUTPUTS; first += 32 * WARPS) {
        const int output = min(first + lane, OUTPUTS - 1);           // spare lanes repeat the last output
        const Element* corner = image + output / OUT_W * WIDTH + output % OUT_W;
        wmma::fragment<wmma::accumulator, ROWS, COLUMNS, STEP, float> sum[PARTS];
        for (int part = 0; part < PARTS; ++part) wmma::fill_fragment(sum[part], 0.0f);
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            Element* buffer = mine + step % BUFFERS * BUFFER;
            #pragma unroll
            for (int i = 0; i < STEP; i += PER) {                    // Gather: loops are unrolled, so offsets are constants
                Vector cells;
                #pragma unroll
                for (int term = step * STEP + i, e = 0; e < PER; ++e, ++term) {
                    const int offset = (term / (K * K) * HEIGHT + term / K % K) * WIDTH + term % K;   // of (c, p, q)
                    cells.element[e] = term < TERMS ? corner[offset] : Element(0.0f);
                }
                *reinterpret_cast<int4*>(buffer + lane * PITCH + i) = cells.whole;
            }
            __syncwarp();   // the fragment's lanes read columns of others
            wmma::fragment<wmma::matrix_a, ROWS, COLUMNS, STEP, Operand, wmma::row_major> a;
            wmma::load_matrix_sync(a, weights + step * STEP, WIDE);
            for (int part = 0; part < PARTS; ++part) {
                wmma::fragment<wmma::matrix_b, ROWS, COLUMNS, STEP, Operand, wmma::col_major> b;
                wmma::load_matrix_sync(b, buffer + part * COLUMNS * PITCH, PITCH);
                wmma::mma_sync(sum[part], a, b, sum[part]);
                for (float& one : sum[part].x) one = __half2float(__float2half(one));
            }
            if (BUFFERS == 1 || step == STEPS - 1) __syncwarp();   // not before all have read what is overwritten next
        }
        float* out = reinterpret_cast<float*>(mine);                 // Store through shared memory: y's rows need no alignment so
        for (int part = 0; part < PARTS; ++part) wmma::store_matrix_sync(out + part * COLUMNS, sum[part], 40, wmma::mem_row_major);
        __syncwarp();
        for (int m = 0; m < ROWS && map + m < OUTPUT_MAPS && first + lane < OUTPUTS; ++m)
            y[m * OUTPUTS + first + lane] = out[m * 40 + lane];
        __syncwarp();   // not before all have read what the next columns overwrite
    }
}
