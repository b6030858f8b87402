// last_block_sums.cu -- the last block to finish adds up what the others left: fence, counter, sum
//
// twin: last_block_without_fence
// launch: grid=8 block=64
// arguments: out float total 1; scratch float partial 8; inout unsigned done 1 zeros; in float x 512 integers
// result: total = [x.sum()]

extern "C" __global__ void last_block_sums(float* total, float* partial, unsigned* done, const float* x)
{
    __shared__ float part[64];
    __shared__ bool last;
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) {
            part[t] += part[t + step];
        }
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = part[0];
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) {
            sum += static_cast<volatile float*>(partial)[b];
        }
        *total = sum;
    }
}
