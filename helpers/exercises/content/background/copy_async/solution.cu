// %%kernel copy_async -DTILE_WIDTH=1024 -DTHREADS=256 -DFILTER_WIDTH=15
#define VECTORS ((TILE_WIDTH + FILTER_WIDTH - 1 + 3) / 4)   // of 16 bytes: a tile and its halo
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_BUT(newest) asm volatile("cp.async.wait_group %0;" :: "n"(newest) : "memory")

__constant__ float filter[FILTER_WIDTH];

// Starts this thread's share of the copy of a tile, 16 bytes by each cp.async, and goes on.
__device__ void start_copy(float4* tile, const float* N, int start, int n)
{
    const float4* source = reinterpret_cast<const float4*>(N + start);
    const int vectors = min(VECTORS, (n - start) / 4);   // the last tile may end before N ends
    for (int v = threadIdx.x; v < vectors; v += THREADS) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(tile + v);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(to), "l"(source + v) : "memory");
    }
}

__global__ void copy_async(float* P, const float* N, int n)
{
    __shared__ float4 tiles[2][VECTORS];
    const int outputs = n - FILTER_WIDTH + 1;
    const int stride = gridDim.x * TILE_WIDTH;   // from one tile of this block to its next one
    int current = 0;                             // the buffer of the tile in work; ^ 1 is the other
    int start = blockIdx.x * TILE_WIDTH;
    //> Gap 1: start the copy of the first tile, if start < outputs, as a group.
    if (start < outputs) {
        start_copy(tiles[0], N, start, n);
    }
    COMMIT();
    //<
    for (; start < outputs; start += stride, current ^= 1) {
        //> Gap 2: start the copy of the next tile, as a group. Then wait until *this* tile is
        //> there, all of it.
        if (start + stride < outputs) {
            start_copy(tiles[current ^ 1], N, start + stride, n);
        }
        COMMIT();       // after the last tile the group is empty
        WAIT_BUT(1);
        __syncthreads();
        //<
        const float* cells = reinterpret_cast<const float*>(tiles[current]);
        const int end = min(TILE_WIDTH, outputs - start);
        for (int o = threadIdx.x; o < end; o += THREADS) {
            float sum = 0.0f;
            for (int j = 0; j < FILTER_WIDTH; ++j) {
                sum += cells[o + j] * filter[j];
            }
            P[start + o] = sum;
        }
        //> Gap 3: the next turn copies into this buffer. Who must be done with it?
        __syncthreads();
        //<
    }
}
