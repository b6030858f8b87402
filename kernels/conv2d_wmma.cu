// conv2d_wmma.cu -- the layer as an implicit GEMM on tensor cores, by nvcuda::wmma
//
// Computes   y[b,m,h,w] = sum_{c,p,q} x[b,c,h+p,w+q] * filter[m,c,p,q]; both rounded to half, or to
//            TF32; sums in float32
// Idea       The product of the filter (output maps x C K K) and the unrolled image (C K K x
//            outputs), which is never stored as a whole. A block stages an image and the filter,
//            rounded once. A warp takes 32 outputs at a time: each lane gathers STEP cells of its
//            output into a column of a matrix in shared memory, and the warp multiplies this step
//            of the matrix.
// Arrays     x: float32, (B, C, H, W); filter: float32, (M, C, K, K); y: float32, (B, M, out_h,
//            out_w), out_h = H - K + 1 and out_w likewise. They must not overlap.
// Launch     block = (32 * WARPS, 1, 1); grid = (1, ceil(M / ROWS), B)
// Sizes      K <= H, W; an image and ROWS filters must fit shared memory. Zeros pad C K K and M.
// Memory     shared, dynamic: (ROWS * FILTER_PITCH + WARPS * WARP_ELEMENTS + CELLS) *
//            sizeof(Element) bytes
// Constants  CHANNELS = C, OUTPUT_MAPS = M, HEIGHT = H, WIDTH = W, FILTER_WIDTH = K, TF32 (0: half,
//            1), ROWS (maps of a fragment: 8 or 16; TF32: 16), WARPS, BUFFERS (for gathered cells:
//            1; or 2, which saves a wait in each step), SKEW_BYTES (16: neighbouring rows begin
//            in other banks; 0 shows the conflicts) by -D (defaults below: layer 1 of the network).
// Reference  helpers.reference.conv2d of the rounded arrays; tolerance:
//            helpers.problems.precision.HALF_TENSOR, TF32_TENSOR

#include <cuda_fp16.h>
#include <mma.h>

#ifndef CHANNELS
#define CHANNELS 1
#endif
#ifndef OUTPUT_MAPS
#define OUTPUT_MAPS 4
#endif
#ifndef HEIGHT
#define HEIGHT 86
#endif
#ifndef WIDTH
#define WIDTH 86
#endif
#ifndef FILTER_WIDTH
#define FILTER_WIDTH 7
#endif
#ifndef TF32
#define TF32 0
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef WARPS
#define WARPS 8
#endif
#ifndef BUFFERS
#define BUFFERS 2
#endif
#ifndef SKEW_BYTES
#define SKEW_BYTES 16
#endif

using namespace nvcuda;

// Element: what lies in shared memory. Operand: what wmma calls its type.
#if TF32
using Element = float;
using Operand = wmma::precision::tf32;

__device__ void round_to(Element& to, float value)
{
    to = wmma::__float_to_tf32(value);
}
#else
using Element = __half;
using Operand = __half;

__device__ void round_to(Element& to, float value)
{
    to = __float2half(value);
}
#endif

constexpr int K = FILTER_WIDTH;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int OUTPUTS = (HEIGHT - K + 1) * OUT_W;   // of a map
constexpr int CELLS = CHANNELS * HEIGHT * WIDTH;    // of an image
constexpr int THREADS = 32 * WARPS;

// The sum of an output has TERMS products, padded to whole steps.
constexpr int TERMS = CHANNELS * K * K;
constexpr int STEP = TF32 ? 8 : 16;
constexpr int STEPS = (TERMS + STEP - 1) / STEP;
constexpr int DEPTH = STEPS * STEP;

// Elements from one filter, and from one gathered column, to the next.
constexpr int SKEW = SKEW_BYTES / int(sizeof(Element));
constexpr int FILTER_PITCH = DEPTH + SKEW;
constexpr int PITCH = STEP + SKEW;

// A fragment has 8 rows and 32 columns, or 16 and 16: a warp's 32 outputs are one fragment, or two.
constexpr int COLUMNS = ROWS == 8 ? 32 : 16;
constexpr int FRAGMENTS = 32 / COLUMNS;

// Shared memory of a warp: its buffers for gathered columns, later its sums, rows of 40 floats.
constexpr int BUFFER = 32 * PITCH;
constexpr int SUM_PITCH = 40;
constexpr int SUM_ELEMENTS = SUM_PITCH * ROWS * 4 / int(sizeof(Element));
constexpr int WARP_ELEMENTS = BUFFERS * BUFFER > SUM_ELEMENTS ? BUFFERS * BUFFER : SUM_ELEMENTS;

constexpr int VECTOR = 16 / int(sizeof(Element));   // elements that one store of 16 bytes moves
union Vector
{
    Element element[VECTOR];
    int4 whole;
    __device__ Vector() {}
};

extern "C" __global__ void __launch_bounds__(THREADS)
conv2d_wmma(float* y, const float* x, const float* filter)
{
    extern __shared__ __align__(128) unsigned char memory[];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int map = blockIdx.y * ROWS;   // the block's first map
    Element* weights = reinterpret_cast<Element*>(memory);   // [ROWS][FILTER_PITCH]
    Element* all_columns = weights + ROWS * FILTER_PITCH;    // of all warps
    Element* columns = all_columns + warp * WARP_ELEMENTS;   // of this warp: [BUFFERS][32][PITCH]
    Element* image = all_columns + WARPS * WARP_ELEMENTS;    // [C][H][W]
    x += (size_t)blockIdx.z * CELLS;
    y += ((size_t)blockIdx.z * OUTPUT_MAPS + map) * OUTPUTS;

    // Load. Padding must be zero: whatever lies in shared memory, times zero, may be NaN.
    for (int i = threadIdx.x; i < ROWS * DEPTH; i += THREADS) {
        const int m = i / DEPTH;
        const int term = i % DEPTH;
        const bool inside = map + m < OUTPUT_MAPS && term < TERMS;
        const float weight = inside ? filter[(map + m) * TERMS + term] : 0.0f;
        round_to(weights[m * FILTER_PITCH + term], weight);
    }
    for (int i = threadIdx.x; i < CELLS; i += THREADS) {
        round_to(image[i], x[i]);
    }
    __syncthreads();   // lanes gather what other threads loaded

    for (int first = warp * 32; first < OUTPUTS; first += THREADS) {
        const int output = min(first + lane, OUTPUTS - 1);   // spare lanes repeat the last output
        const Element* corner = image + output / OUT_W * WIDTH + output % OUT_W;
        wmma::fragment<wmma::accumulator, ROWS, COLUMNS, STEP, float> sum[FRAGMENTS];
        for (int part = 0; part < FRAGMENTS; ++part) {
            wmma::fill_fragment(sum[part], 0.0f);
        }

        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            // Gather a column for each lane. All is unrolled, so the divisions below are made by
            // nvcc, and offsets are constants.
            Element* buffer = columns + step % BUFFERS * BUFFER;
            #pragma unroll
            for (int i = 0; i < STEP; i += VECTOR) {
                Vector cells;
                #pragma unroll
                for (int e = 0; e < VECTOR; ++e) {
                    const int term = step * STEP + i + e;
                    const int c = term / (K * K);
                    const int p = term / K % K;
                    const int q = term % K;
                    const int offset = (c * HEIGHT + p) * WIDTH + q;
                    cells.element[e] = term < TERMS ? corner[offset] : Element(0.0f);
                }
                *reinterpret_cast<int4*>(buffer + lane * PITCH + i) = cells.whole;
            }
            __syncwarp();   // the fragment's lanes read columns of others

            // Multiply.
            wmma::fragment<wmma::matrix_a, ROWS, COLUMNS, STEP, Operand, wmma::row_major> a;
            wmma::load_matrix_sync(a, weights + step * STEP, FILTER_PITCH);
            for (int part = 0; part < FRAGMENTS; ++part) {
                wmma::fragment<wmma::matrix_b, ROWS, COLUMNS, STEP, Operand, wmma::col_major> b;
                wmma::load_matrix_sync(b, buffer + part * COLUMNS * PITCH, PITCH);
                wmma::mma_sync(sum[part], a, b, sum[part]);
            }
            if (BUFFERS == 1 || step == STEPS - 1) {
                __syncwarp();   // not before all have read what is overwritten next
            }
        }

        // Store through shared memory: a fragment would be stored with its padding and with spare
        // columns, which have no place in y.
        float* sums = reinterpret_cast<float*>(columns);
        for (int part = 0; part < FRAGMENTS; ++part) {
            float* to = sums + part * COLUMNS;
            wmma::store_matrix_sync(to, sum[part], SUM_PITCH, wmma::mem_row_major);
        }
        __syncwarp();   // lanes read sums of others
        for (int m = 0; m < ROWS && map + m < OUTPUT_MAPS && first + lane < OUTPUTS; ++m) {
            y[m * OUTPUTS + first + lane] = sums[m * SUM_PITCH + lane];
        }
        __syncwarp();   // not before all have read what the next columns overwrite
    }
}
