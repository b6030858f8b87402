// sums_of_any_block.cu -- block sums where a block is no multiple of a warp
extern "C" __global__ void sums_of_any_block(const float *x, float *out, int n)
{
    __shared__ float part[32];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = (blockDim.x + 31) / 32;
    int i = blockIdx.x * blockDim.x + t;
    float v = i < n ? x[i] : 0;
    unsigned m = __ballot_sync(__activemask(), 1);
    for (int d = 16; d; d >>= 1) { float o = __shfl_down_sync(m, v, d); if (lane + d < 32 && t + d < blockDim.x) v += o; }
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < warps ? part[lane] : 0;
        for (int d = 16; d; d >>= 1) { float o = __shfl_down_sync(m, v, d); if (lane + d < 32) v += o; }
        if (lane == 0) out[blockIdx.x] = v;
    }
}
