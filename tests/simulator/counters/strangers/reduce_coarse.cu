// reduce_coarse.cu -- a sum: several elements a thread, a tree, one atomic a block
#define COARSE 4
extern "C" __global__ void reduce_coarse(const float* in, float* out, int n)
{
    __shared__ float part[128];
    const unsigned segment = COARSE * 2 * blockDim.x * blockIdx.x, t = threadIdx.x;
    unsigned i = segment + t;
    float sum = 0;
    for (int tile = 0; tile < COARSE * 2; ++tile, i += blockDim.x)
        if (i < n) sum += in[i];
    part[t] = sum;
    for (unsigned stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride) part[t] += part[t + stride];
    }
    if (t == 0) atomicAdd(out, part[0]);
}
