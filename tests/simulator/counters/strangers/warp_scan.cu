// warp_scan.cu -- exclusive scan: shuffles in the warp, the warps' totals through shared memory
#define FULL 0xffffffff
__inline__ __device__ float warpInclusive(float v)
{
    int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d *= 2) {
        float u = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += u;
    }
    return v;
}

extern "C" __global__ void warp_scan(float* out, const float* in, int n)
{
    __shared__ float warps[32];
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = (i < n) ? in[i] : 0.f;
    float s = warpInclusive(v);
    if (lane == 31) warps[wid] = s;
    __syncthreads();
    if (wid == 0) {
        float w = (lane < blockDim.x / 32) ? warps[lane] : 0.f;
        w = warpInclusive(w);
        warps[lane] = w;
    }
    __syncthreads();
    if (wid > 0) s += warps[wid - 1];
    if (i < n) out[i] = s - v;
}
