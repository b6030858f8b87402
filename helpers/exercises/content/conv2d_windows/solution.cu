// %%kernel conv2d_windows -DCHANNELS=4 -DOUTPUT_MAPS=16 -DHEIGHT=40 -DWIDTH=40 -DFILTER_WIDTH=7 -DWARPS=12
#include <cuda_fp16.h>

constexpr int K = FILTER_WIDTH;
constexpr int OUT_H = HEIGHT - K + 1;
constexpr int OUT_W = WIDTH - K + 1;
constexpr int THREADS = 32 * WARPS;
constexpr int ROW = WIDTH / 2;                  // Pairs in a row of x
constexpr int PLANE = HEIGHT * ROW;             // Pairs in a channel
constexpr int IMAGE = CHANNELS * PLANE;         // Pairs in an image; an even number of channels
constexpr int ACROSS = OUT_W / 2;               // pairs of outputs in a row
constexpr int COLUMNS = OUT_H / 2 * ACROSS;     // columns of B that an image needs
constexpr int STEPS = CHANNELS * K / 2;         // a step takes two of the CHANNELS * K filter rows

typedef unsigned Pair;   // two neighbouring halves in one register

// Fragments of A, [step][shift][part][lane]; part 1 holds residuals. The last one: 1 / scale.
__device__ uint4 filter[STEPS * 2 * 2 * 32 + 1];

// Two numbers rounded to half, and what this rounding took off them (lab 304).
__device__ void split(Pair& hi, Pair& lo, float2 cells)
{
    const __half2 rounded = __float22half2_rn(cells);
    const float2 kept = __half22float2(rounded);
    const __half2 rest = __floats2half2_rn(cells.x - kept.x, cells.y - kept.y);
    hi = *reinterpret_cast<const Pair*>(&rounded);
    lo = *reinterpret_cast<const Pair*>(&rest);
}

// sum += A B by the whole warp. Lane 4 g + q gives rows 2 q, 2 q + 1 of column g of B in b_low,
// rows 2 q + 8, 2 q + 9 in b_high. It gets columns 2 q, 2 q + 1 of row g in sum[0], sum[1], and of
// row g + 8 in sum[2], sum[3].
__device__ void multiply(float (&sum)[4], uint4 a, Pair b_low, Pair b_high)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
}

__global__ void __launch_bounds__(THREADS) conv2d_windows(float* y, const float* x, int B)
{
    __shared__ Pair hi[IMAGE + 4];   // the image, rounded: [channel][row][Pair]
    __shared__ Pair lo[IMAGE + 4];   // and its residuals
    const int lane = threadIdx.x % 32;
    const int g = lane / 4;
    const int q = lane % 4;
    const float scale = __uint_as_float(filter[STEPS * 2 * 2 * 32].x);

    for (int b = blockIdx.x; b < B; b += gridDim.x) {
        __syncthreads();   // nobody reads the image before
        for (int i = threadIdx.x; i < IMAGE + 4; i += THREADS) {
            const float2* cells = reinterpret_cast<const float2*>(x) + (size_t)b * IMAGE;
            split(hi[i], lo[i], i < IMAGE ? cells[i] : make_float2(0, 0));
        }
        __syncthreads();

        // A tile is 8 columns of B: 8 pairs of outputs, for the rows h and h + 1. A warp takes tile
        // after tile.
        for (int first = threadIdx.x / 32 * 8; first < COLUMNS; first += 8 * WARPS) {
            const int column = min(first + g, COLUMNS - 1);   // the lane's column of B
            //> Gap 1: the place in hi of the lane's first Pair of this column's window, in channel
            //> 0: which row and which pair of outputs has the column? The lane is q Pairs further.
            //= const int window = 0;
            const int window = column / ACROSS * 2 * ROW + column % ACROSS + q;
            //<
            float total[2][2][4] = {};   // [row h or h + 1][shift][register]
            float sum[2][2][4] = {};
            for (int step = 0; step < STEPS; ++step) {
                for (int row = 0; row < 2; ++row) {
                    //> Gap 2: the places of two Pairs. The filter rows of all channels are counted
                    //> through: 2 * step is the first one of this step, 2 * step + 1 the second.
                    //> Row n belongs to channel n / K. `row` is 1 for outputs of row h + 1.
                    //= const int low = window;
                    //= const int high = window;
                    const int n = 2 * step;
                    const int low = window + n / K * PLANE + (n % K + row) * ROW;
                    const int high = window + (n + 1) / K * PLANE + ((n + 1) % K + row) * ROW;
                    //<
                    for (int shift = 0; shift < 2; ++shift) {
                        const uint4* a = filter + (step * 2 + shift) * 2 * 32 + lane;
                        multiply(sum[row][shift], a[0], lo[low], lo[high]);
                        multiply(sum[row][shift], a[32], hi[low], hi[high]);
                        multiply(sum[row][shift], a[0], hi[low], hi[high]);
                    }
                }
                if (step % K == K - 1) {   // two channels are a short sum
                    for (int i = 0; i < 16; ++i) {
                        total[i / 8][i / 4 % 2][i % 4] += sum[i / 8][i / 4 % 2][i % 4];
                        sum[i / 8][i / 4 % 2][i % 4] = 0;
                    }
                }
            }

            // Store. Shift 0 is the even output of a pair, shift 1 the odd one.
            for (int row = 0; row < 2; ++row) {
                for (int shift = 0; shift < 2; ++shift) {
                    for (int i = 0; i < 4; ++i) {
                        //> Gap 3: which output is total[row][shift][i]? Its column of B is not that
                        //> which the lane has loaded.
                        //= const int pair = COLUMNS;
                        //= const int map = 0;
                        const int pair = first + 2 * q + i % 2;
                        const int map = g + i / 2 * 8;
                        //<
                        const int h = pair / ACROSS * 2 + row;
                        const int w = pair % ACROSS * 2 + shift;
                        if (pair < COLUMNS && map < OUTPUT_MAPS) {
                            float* to = y + ((size_t)b * OUTPUT_MAPS + map) * OUT_H * OUT_W;
                            to[h * OUT_W + w] = total[row][shift][i] * scale;
                        }
                    }
                }
            }
        }
    }
}
