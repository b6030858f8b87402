// layer_norm.cu -- normalised rows with gain and bias; float4 loads, block sums through shared
// memory
__device__ float block_sum(float v, float* warps)
{
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = v;
    __syncthreads();
    float total = 0;
    for (int k = 0; k < (blockDim.x + 31) / 32; k++) total += warps[k];
    __syncthreads();
    return total;
}

extern "C" __global__ void layer_norm(float4* y, const float4* x, const float4* gain,
                                      const float4* bias, int width4, float eps)
{
    __shared__ float warps[32];
    const float4* row = x + blockIdx.x * width4;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < width4; i += blockDim.x) {
        float4 v = row[i];
        sum += v.x + v.y + v.z + v.w;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float mean = block_sum(sum, warps) / (4 * width4);
    float variance = block_sum(squares, warps) / (4 * width4) - mean * mean;
    float scale = rsqrtf(variance + eps);
    for (int i = threadIdx.x; i < width4; i += blockDim.x) {
        float4 v = row[i], g = gain[i], b = bias[i];
        v.x = (v.x - mean) * scale * g.x + b.x;
        v.y = (v.y - mean) * scale * g.y + b.y;
        v.z = (v.z - mean) * scale * g.z + b.z;
        v.w = (v.w - mean) * scale * g.w + b.w;
        y[blockIdx.x * width4 + i] = v;
    }
}
