// %%kernel wgmma_taps -DTAPS=3
#include <cuda_fp16.h>

constexpr int OUTPUTS = 32;                  // columns of B
constexpr int CELLS = OUTPUTS + TAPS - 1;    // of a row of x, with 16 channels each

typedef unsigned long long Descriptor;
typedef uint4 Octet;   // 8 channels as halves: 16 bytes

// address: of the matrix in shared memory. other_half: from there to the other 8 of the 16 channels.
// next_eight: to the next 8 rows of A, or columns of B. All in bytes.
__device__ Descriptor descriptor(unsigned address, unsigned other_half, unsigned next_eight)
{
    //> Gap 1: divide each by 16. The address belongs in bits 0 to 13, other_half in bits 16 to 29,
    //> next_eight in bits 32 to 45. All other bits are 0: no swizzle.
    //= return 0;
    const Descriptor start = address / 16;
    const Descriptor half = other_half / 16;
    const Descriptor eight = next_eight / 16;
    return start | half << 16 | eight << 32;
    //<
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL   // compiled with -arch=sm_90a: the instruction itself
__device__ void start_product(float (&sum)[16], Descriptor a, Descriptor b, int keep)
{
    asm volatile(
        "{\n"
        ".reg .pred keep;\n"
        "setp.ne.b32 keep, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "%16, %17, keep, 1, 1, 0, 0;\n"
        "}"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
          "+f"(sum[6]), "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]),
          "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15])
        : "l"(a), "l"(b), "r"(keep));
}
#define BEGIN asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.commit_group.sync.aligned;\n" \
                          "wgmma.wait_group.sync.aligned 0;" ::: "memory")
#else   // elsewhere the same in plain code: it reads where the descriptors say
__device__ float element(Descriptor matrix, int i, int k)   // channel k of row or column i
{
    const unsigned first = matrix & 16383;
    const unsigned other_half = matrix >> 16 & 16383;
    const unsigned next_eight = matrix >> 32 & 16383;
    const unsigned piece = first + other_half * (k / 8) + next_eight * (i / 8);
    unsigned short bits;
    asm volatile("ld.shared.u16 %0, [%1];"
                 : "=h"(bits) : "r"(piece * 16 + i % 8 * 16 + k % 8 * 2));
    return __half2float(__ushort_as_half(bits));
}

__device__ void start_product(float (&sum)[16], Descriptor a, Descriptor b, int keep)
{
    const int lane = threadIdx.x % 32;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int row = threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
        const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float total = keep ? sum[i] : 0.0f;
        for (int k = 0; k < 16; ++k) {
            total += element(a, row, k) * element(b, column, k);
        }
        sum[i] = total;
    }
}
#define BEGIN
#define WAIT
#endif

// y[map][w] = sum over taps and 16 channels of filter[tap][map] x[w + tap]: 64 maps, 32 outputs
__global__ void __launch_bounds__(128) wgmma_taps(float* y, const __half* x, const __half* filter)
{
    __shared__ __align__(128) Octet cells[2][CELLS];        // [half of the channels][cell]
    __shared__ __align__(128) Octet weights[TAPS][2][64];   // [tap][half of the channels][map]

    // Load Octets. x is (cell, channel), filter is (tap, map, channel).
    for (int i = threadIdx.x; i < 2 * CELLS; i += 128) {
        cells[i % 2][i / 2] = reinterpret_cast<const Octet*>(x)[i];
    }
    for (int i = threadIdx.x; i < TAPS * 128; i += 128) {
        weights[i / 128][i % 2][i / 2 % 64] = reinterpret_cast<const Octet*>(filter)[i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");   // the tensor cores read them
    __syncthreads();

    // Multiply: A is the weights of a tap, 64 maps; B the cells that it meets, 32 outputs.
    float sum[16];
    BEGIN;
    #pragma unroll 1
    for (int tap = 0; tap < TAPS; ++tap) {
        const unsigned a_first = (unsigned)__cvta_generic_to_shared(weights[tap]);
        const unsigned b_first = (unsigned)__cvta_generic_to_shared(cells);
        //> Gap 2: both descriptors. Column w of B is cell w + tap.
        //= const Descriptor a = descriptor(a_first, 0, 0);
        //= const Descriptor b = descriptor(b_first, 0, 0);
        const Descriptor a = descriptor(a_first, 64 * 16, 8 * 16);
        const Descriptor b = descriptor(b_first + 16 * tap, CELLS * 16, 8 * 16);
        //<
        start_product(sum, a, b, tap > 0);
    }
    WAIT;

    // Store: the sums lie in registers as those of mma, 16 rows for each warp.
    for (int i = 0; i < 16; ++i) {
        const int map = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
        const int w = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        y[map * OUTPUTS + w] = sum[i];
    }
}
