// %%kernel turned_tiles
__global__ void turned_tiles(float* P, const float* N, int n)
{
    __shared__ float4 idle[64];
    for (int start = 256 * blockIdx.x; start < n; start += 256 * gridDim.x) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(idle + threadIdx.x);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(to), "l"(N + start + 4 * threadIdx.x) : "memory");
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        for (int o = threadIdx.x; o < 256; o += 64) {
            P[start + o] = N[start + 255 - o];
        }
    }
}
