// %%kernel turned_tiles
//>
__device__ void start_copy(float4* tile, const float* N, int start)
{
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    const float4* from = reinterpret_cast<const float4*>(N + start) + threadIdx.x;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}

//<
__global__ void turned_tiles(float* P, const float* N, int n)
{
    //>
    //= __shared__ float4 tile[64];   // 256 cells
    //= const float* cells = reinterpret_cast<const float*>(tile);
    __shared__ float4 tiles[2][64];   // 256 cells each
    //<
    const int t = threadIdx.x;    // [0, 64)

    //>
    //= for (int start = 256 * blockIdx.x; start < n; start += 256 * gridDim.x) {
    //=     // Copy.
    //=     tile[t] = reinterpret_cast<const float4*>(N + start)[t];
    const int stride = 256 * gridDim.x;
    int current = 0;
    int start = 256 * blockIdx.x;
    if (start < n) {
        start_copy(tiles[0], N, start);
    }
    asm volatile("cp.async.commit_group;");
    for (; start < n; start += stride, current ^= 1) {
        if (start + stride < n) {
            start_copy(tiles[current ^ 1], N, start + stride);
        }
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    //<
        __syncthreads();

        // Turn the tile around and store.
        //>
        const float* cells = reinterpret_cast<const float*>(tiles[current]);
        //<
        for (int o = t; o < 256; o += 64) {
            P[start + o] = cells[255 - o];
        }
        __syncthreads();
    }
}
