// last_block_sum.cu -- each block leaves its sum, the last one to come adds them: fence, ticket,
// volatile
__device__ unsigned int ticket = 0;

extern "C" __global__ void last_block_sum(volatile float* partial, float* result, const float* x,
                                          int n)
{
    __shared__ float s[128];
    __shared__ bool last;
    int t = threadIdx.x;
    float sum = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += x[i];
    s[t] = sum;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float total = 0;
        for (int b = 0; b < gridDim.x; b++) total += partial[b];
        *result = total;
    }
}
