// %%kernel copy_bulk -DTILE_WIDTH=1024 -DTHREADS=256 -DFILTER_WIDTH=15
#define VECTORS ((TILE_WIDTH + FILTER_WIDTH - 1 + 3) / 4)   // of 16 bytes: a tile and its halo

typedef unsigned long long Barrier;   // an mbarrier takes 8 bytes of shared memory

__constant__ float filter[FILTER_WIDTH];

__device__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Announces the bytes of a tile at an mbarrier, and starts the copy. One thread calls it.
__device__ void start_copy(float4* tile, const float* N, int start, int n, Barrier* arrived)
{
    //> Gap 1: how many bytes does this copy bring? The last tile may end before N ends.
    //= const int bytes = 0;
    const int bytes = 16 * min(VECTORS, (n - start) / 4);
    //<
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(arrived)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(shared_address(tile)), "l"(N + start), "r"(bytes),
                    "r"(shared_address(arrived)) : "memory");
}

// Waits until the phase of that parity is over.
__device__ void wait(Barrier* arrived, int parity)
{
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
                 "@!over bra again;\n"
                 "}"
                 :: "r"(shared_address(arrived)), "r"(parity) : "memory");
}

__global__ void copy_bulk(float* P, const float* N, int n)
{
    __shared__ float4 tiles[2][VECTORS];
    __shared__ Barrier arrived[2];               // one for each buffer
    const int outputs = n - FILTER_WIDTH + 1;
    const int stride = gridDim.x * TILE_WIDTH;   // from one tile of this block to its next one
    int start = blockIdx.x * TILE_WIDTH;

    if (threadIdx.x == 0) {   // set up both mbarriers, show them to the copy engine, and begin
        for (int buffer = 0; buffer < 2; ++buffer) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         :: "r"(shared_address(&arrived[buffer])) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (start < outputs) {
            start_copy(tiles[0], N, start, n, &arrived[0]);
        }
    }
    __syncthreads();   // nobody may wait at an mbarrier that is not there yet

    for (int turn = 0; start < outputs; start += stride, ++turn) {
        const int current = turn % 2;   // the buffer of the tile in work; ^ 1 is the other
        //> Gap 2: thread 0 starts the copy of the next tile.
        if (threadIdx.x == 0 && start + stride < outputs) {
            start_copy(tiles[current ^ 1], N, start + stride, n, &arrived[current ^ 1]);
        }
        //<
        //> Gap 3: wait for this tile.
        wait(&arrived[current], turn / 2 % 2);
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
        //> Gap 4: the next turn copies into this buffer.
        __syncthreads();
        //<
    }
}
