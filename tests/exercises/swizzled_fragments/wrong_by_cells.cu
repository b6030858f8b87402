// %%kernel swizzled_fragments
#include <cuda_fp16.h>

typedef uint4 Piece;        // eight halves: 16 bytes
constexpr int DEPTH = 64;   // terms of a step

// The place of a piece in a tile: a row has 8 pieces, in the banks 0 to 31.
__device__ int place_of(int row, int piece)
{
    return row * 8 + (piece ^ row % 8);
}

// Reads four squares of 8 x 8 halves; lanes 8 k to 8 k + 7 name the rows of square k.
__device__ uint4 load_squares(const Piece* row)
{
    uint4 s;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    return s;
}

// The same, with rows and columns of each square exchanged.
__device__ uint4 load_turned(const Piece* row)
{
    uint4 s;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    return s;
}

// The pair of rows `row` and row + 1, column `column` of the tile of X, cell by cell.
__device__ unsigned pair_of(const Piece* tile, int row, int column)
{
    const unsigned short* cells = reinterpret_cast<const unsigned short*>(tile);
    const unsigned low = cells[place_of(row, column / 8) * 8 + column % 8];
    return low | (unsigned)cells[place_of(row + 1, column / 8) * 8 + column % 8] << 16;
}

__device__ void multiply(float (&sum)[4], uint4 a, unsigned b_low, unsigned b_high)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
}

// One warp: a step of 64 terms. Y has 16 x 64 floats, A 16 x 64 halves and X 64 x 64.
__global__ void swizzled_fragments(float* Y, const __half* A, const __half* X)
{
    __shared__ Piece tile_a[16 * 8], tile_x[DEPTH * 8];
    const int lane = threadIdx.x;
    const Piece* of_a = reinterpret_cast<const Piece*>(A);   // 8 pieces in a row
    const Piece* of_x = reinterpret_cast<const Piece*>(X);
    for (int i = lane; i < 16 * 8; i += 32) tile_a[place_of(i / 8, i % 8)] = of_a[i];
    for (int i = lane; i < DEPTH * 8; i += 32) tile_x[place_of(i / 8, i % 8)] = of_x[i];
    __syncwarp();

    float sum[8][4] = {};   // 16 rows by 8 columns each
    #pragma unroll
    for (int first = 0; first < DEPTH; first += 16) {
        const uint4 a = load_squares(tile_a + place_of(lane % 16, first / 8 + lane / 16));
        #pragma unroll
        for (int s = 0; s < 8; s += 2) {
            uint4 x = load_turned(
                tile_x + place_of(first + lane % 16, s + lane / 16));   // not used
            const int row = first + lane % 4 * 2, column = s * 8 + lane / 4;
            x = make_uint4(pair_of(tile_x, row, column), pair_of(tile_x, row + 8, column),
                           pair_of(tile_x, row, column + 8), pair_of(tile_x, row + 8, column + 8));
            multiply(sum[s], a, x.x, x.y);
            multiply(sum[s + 1], a, x.z, x.w);
        }
    }

    float2* pairs = reinterpret_cast<float2*>(Y);   // 32 pairs in a row
    for (int s = 0; s < 8; ++s) {
        pairs[lane / 4 * 32 + s * 4 + lane % 4] = make_float2(sum[s][0], sum[s][1]);
        pairs[(lane / 4 + 8) * 32 + s * 4 + lane % 4] = make_float2(sum[s][2], sum[s][3]);
    }
}
