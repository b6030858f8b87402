// tensor_map.cuh -- tiles of a matrix copied by one instruction, and clusters of blocks
//
// Words, beside those of warpgroup.cuh:
//   tensor map   128 bytes that describe a matrix: its address, sizes and type, the size of a tile,
//                and how the tile is swizzled. The host makes it by a call of the driver
//                (helpers/tensor_maps.py), and puts it into global memory.
//   cluster      neighbouring blocks that run at the same time and reach each other's shared memory
//
// A tile is copied by the multiprocessor's copy engine. One thread starts it; no register holds its
// cells, and no thread computes their addresses. Cells of a tile beyond the matrix are filled with
// zeros on the way in, and are left out on the way back.
#pragma once
#include "warpgroup.cuh"

struct __align__(64) TensorMap {
    unsigned char bytes[128];
};

// ------------------------------------------------------------------------------------------------
// Tiles

// Makes what the host has written to a tensor map known to this thread's copies.
__device__ __forceinline__ void read_map(const TensorMap* map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(map) : "memory");
}

// Makes new barriers known to the copy engine and to the other blocks of the cluster.
__device__ __forceinline__ void publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and says how many bytes the barrier's phase waits for, beside the arrivals.
__device__ __forceinline__ void arrive_and_expect(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

// Starts the copy of the tile that begins at this row and column of the matrix. `barrier` counts
// the bytes that have come.
__device__ __forceinline__ void load_tile(
    half* to, const TensorMap* map, int row, int column, Barrier* barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        :: "r"(shared_address(to)), "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
        : "memory");
}

// The same to the same place of every block of the cluster whose bit is set in `blocks`. The bytes
// are read from L2 once. In each of these blocks the barrier in the same place counts them.
__device__ __forceinline__ void load_tile_for(
    unsigned short blocks, half* to, const TensorMap* map, int row, int column, Barrier* barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
        :: "r"(shared_address(to)), "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)),
           "h"(blocks)
        : "memory");
}

// Starts the copy of a tile back to the matrix. The thread has called `publish_tile`, and so has
// each thread that wrote cells of the tile, before a barrier that both have passed.
__device__ __forceinline__ void store_tile(
    const TensorMap* map, int row, int column, const half* from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(map), "r"(column), "r"(row), "r"(shared_address(from)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Like load_tile and store_tile, by maps of four dimensions: boxes of images, rows, columns and 64
// channels, of the size that the map says. A box begins at these coordinates.
__device__ __forceinline__ void load_box(
    half* to, const TensorMap* map, int image, int row, int column, int channel, Barrier* barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6];"
        :: "r"(shared_address(to)), "l"(map), "r"(channel), "r"(column), "r"(row), "r"(image),
           "r"(shared_address(barrier))
        : "memory");
}

__device__ __forceinline__ void store_box(
    const TensorMap* map, int image, int row, int column, int channel, const half* from)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];"
        :: "l"(map), "r"(channel), "r"(column), "r"(row), "r"(image), "r"(shared_address(from))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// The copy engine sees what this thread has stored to shared memory.
__device__ __forceinline__ void publish_tile()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Waits until all but the last LEFT tiles that this thread stores are read from shared memory.
template <int LEFT>
__device__ __forceinline__ void wait_until_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(LEFT) : "memory");
}

// Writes a warp's 16 x 64 outputs to a swizzled tile. Lane 4 g + q holds, for every eight columns,
// two neighbouring ones of row g and two of row g + 8: squares of 8 x 8, as stmatrix stores them,
// the reverse of ldmatrix. One stmatrix stores four squares: 16 rows of two pieces, at 32
// addresses, one from each lane. scale: a factor for all sums.
__device__ __forceinline__ void write_outputs(half* tile, const float* sum, float scale, int lane)
{
    constexpr int ROW = 64;    // halves
    constexpr int PIECE = 8;   // of 16 bytes
    const int row = lane % 16;
    #pragma unroll
    for (int piece = 0; piece < ROW / PIECE; piece += 2) {
        half2 pair[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int k = piece * 4 + 2 * i;
            pair[i] = __floats2half2_rn(sum[k] * scale, sum[k + 1] * scale);
        }
        const unsigned* square = reinterpret_cast<const unsigned*>(pair);
        const half* to = tile + row * ROW + ((piece + lane / 16) ^ row % 8) * PIECE;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"(shared_address(to)), "r"(square[0]), "r"(square[1]), "r"(square[2]),
                        "r"(square[3]) : "memory");
    }
}

// ------------------------------------------------------------------------------------------------
// Clusters

// The number of this block in its cluster.
__device__ __forceinline__ int cluster_rank()
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Waits for all threads of all blocks of the cluster. What they have written may come later.
__device__ __forceinline__ void wait_for_cluster()
{
    asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
}

// Arrives at the barrier that lies in the same place of another block of the cluster.
__device__ __forceinline__ void arrive_at(Barrier* barrier, int rank)
{
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}"
        :: "r"(shared_address(barrier)), "r"(rank) : "memory");
}

// ------------------------------------------------------------------------------------------------
// Products

// The descriptor of a swizzled tile of rows of 64 halves: A's, or X's in blocks of 64 columns and
// DEPTH steps. In a cluster, an address in shared memory also names the block, in its upper bits; a
// descriptor has no place for them.
template <int DEPTH>
__device__ __forceinline__ Descriptor tile_descriptor(const half* tile)
{
    const unsigned address = shared_address(tile) & 0x3ffff;
    return descriptor(address, DEPTH * 128 / 16, 8 * 128 / 16) | 1ull << 62;
}

// Defines start_product for 64 x COLUMNS sums, COLUMNS / 2 of a thread, with B's rows in memory
// (see DEFINE_START_PRODUCT). A, B, KEEP: the numbers of the operands behind the sums.
#define DEFINE_PRODUCT_OF_ROWS(COLUMNS, A, B, KEEP, ...)                                           \
    __device__ __forceinline__ void start_product(                                                 \
        float (&sum)[COLUMNS / 2], Descriptor a, Descriptor b, int keep)                           \
    {                                                                                              \
        asm volatile(                                                                              \
            "{\n"                                                                                  \
            ".reg .pred keep;\n"                                                                   \
            "setp.ne.b32 keep, %" #KEEP ", 0;\n"                                                   \
            "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32.f16.f16 "                        \
            "{" NAMES_##COLUMNS "}, %" #A ", %" #B ", keep, 1, 1, 0, 1;\n"                         \
            "}"                                                                                    \
            : __VA_ARGS__                                                                          \
            : "l"(a), "l"(b), "r"(keep));                                                          \
    }
DEFINE_PRODUCT_OF_ROWS(64, 32, 33, 34, SUMS_32(0))
DEFINE_PRODUCT_OF_ROWS(128, 64, 65, 66, SUMS_32(0), SUMS_32(32))
DEFINE_PRODUCT_OF_ROWS(192, 96, 97, 98, SUMS_32(0), SUMS_32(32), SUMS_32(64))
DEFINE_PRODUCT_OF_ROWS(256, 128, 129, 130, SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96))
