// %%kernel turned_tiles
__global__ void turned_tiles(float* P, const float* N, int n)
{
    __shared__ float4 ring[3][64];
    const int tiles = n / 256;
    const int mine = blockIdx.x < tiles ? (tiles - 1 - blockIdx.x) / gridDim.x + 1 : 0;

    for (int turn = -2; turn < mine; ++turn) {
        if (turn >= 0) {
            // Two newer groups may be under way; one barrier a turn is enough with three buffers.
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            __syncthreads();
        }
        if (turn + 2 < mine) {
            const unsigned to =
                (unsigned)__cvta_generic_to_shared(&ring[(turn + 2) % 3][threadIdx.x]);
            const float* from = N + 256 * (blockIdx.x + (turn + 2) * gridDim.x) + 4 * threadIdx.x;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(to), "l"(from) : "memory");
        }
        asm volatile("cp.async.commit_group;");
        if (turn >= 0) {
            const float* cells = reinterpret_cast<const float*>(ring[turn % 3]);
            for (int o = threadIdx.x; o < 256; o += 64) {
                P[256 * (blockIdx.x + turn * gridDim.x) + o] = cells[255 - o];
            }
        }
    }
}
