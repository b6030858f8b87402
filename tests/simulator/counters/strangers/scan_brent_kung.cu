// scan_brent_kung.cu -- up the tree and down again, two elements a thread
#define SECTION 512
extern "C" __global__ void scan_brent_kung(float* out, const float* in, int n)
{
    __shared__ float cells[SECTION];
    int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    cells[threadIdx.x] = i < n ? in[i] : 0.0f;
    cells[threadIdx.x + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0.0f;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        __syncthreads();
        unsigned index = (threadIdx.x + 1) * 2 * stride - 1;
        if (index < SECTION) cells[index] += cells[index - stride];
    }
    for (int stride = SECTION / 4; stride > 0; stride /= 2) {
        __syncthreads();
        unsigned index = (threadIdx.x + 1) * stride * 2 - 1;
        if (index + stride < SECTION) cells[index + stride] += cells[index];
    }
    __syncthreads();
    if (i < n) out[i] = cells[threadIdx.x];
    if (i + blockDim.x < n) out[i + blockDim.x] = cells[threadIdx.x + blockDim.x];
}
