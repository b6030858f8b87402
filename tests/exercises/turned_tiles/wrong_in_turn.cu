// %%kernel turned_tiles
__global__ void turned_tiles(float* P, const float* N, int n)
{
    __shared__ float4 tile[64];
    const float* cells = reinterpret_cast<const float*>(tile);
    const int t = threadIdx.x;
    for (int start = 256 * blockIdx.x; start < n; start += 256 * gridDim.x) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(to), "l"(N + start + 4 * t) : "memory");
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int o = t; o < 256; o += 64) {
            P[start + o] = cells[255 - o];
        }
        __syncthreads();
    }
}
